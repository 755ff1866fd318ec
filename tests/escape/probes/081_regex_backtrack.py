# class: dos | kind: kill
# expect: catastrophic regex in the C matcher: killed at the limit
import re; print('START', flush=True); re.match('(a+)+$', 'a' * 64 + 'b'); print('ESCAPED: finished')
