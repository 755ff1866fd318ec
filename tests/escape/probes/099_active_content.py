# class: upload | kind: server
# expect: html/svg/js outputs must be served with nosniff, CSP sandbox and attachment or a separate origin: no script runs in the product page
import os; d = ('/mnt/data' if os.access('/mnt/data', os.W_OK) else '.') + '/'
html = '<script>parent.document.title="ESCAPED"</script><img src=x onerror=alert(1)><iframe src="javascript:alert(1)">'
svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>'
for name, text in (('page.html', html), ('image.svg', svg), ('code.js', 'alert(1)'), ('sniff.txt', html), ('polyglot.png', '\x89PNG\r\n' + html), ('x.xhtml', html)): open(d + name, 'w').write(text)
try:
    from IPython.display import HTML, SVG, Javascript, display
    display(HTML(html)); display(Javascript('alert(1)')); display({'text/html': html, 'image/svg+xml': svg}, raw=True)
except Exception as e: print('no display:', type(e).__name__)
print('READY: active content in 6 files and 3 displays')
