# class: dos | kind: kill
# expect: pure-Python loop: interrupted at the time limit (KeyboardInterrupt), killed after the grace
print('START', flush=True)
while True: pass
