# class: dos | kind: server
# expect: output in writes of one byte, alternating between stdout and stderr: bounded in the engine's time and memory
import os, time; end = time.time() + 2; n = 0
while time.time() < end:
    for i in range(1000): os.write(1, b'a'); os.write(2, b'b')
    n += 1000
os.write(1, b'\nREADY: %d writes on each\n' % n)
