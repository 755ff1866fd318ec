# class: deser | kind: server
# expect: object whose __repr__/_repr_html_/_repr_mimebundle_ is huge, slow, wrong-typed or raises: display path bounded and isolated
class Huge:
    def __repr__(self): return 'H' * (40 << 20)
    def _repr_html_(self): return '<b>' + 'h' * (40 << 20)
class Wrong:
    def __repr__(self): return 'wrong'
    def _repr_html_(self): return 12345
    def _repr_png_(self): return 'not bytes'
    def _repr_json_(self): return {1: {2, 3}, 'x': object()}
    def _repr_mimebundle_(self, **k): return {'text/plain': b'\xff\xfe', '../../etc/passwd': 'x', 'text/html\r\nSet-Cookie: a': 'y', 7: 8, 'image/png': 'no base64 !'}, {'deep': [[[[]]]]}
class Raises:
    def __repr__(self): raise RuntimeError('repr raises')
    def _repr_html_(self): raise SystemExit
    def _repr_mimebundle_(self, **k): raise KeyboardInterrupt
class Metaclass(type):
    def __getattr__(c, n): raise ValueError('meta')
class Liar(metaclass=Metaclass):
    def __getattr__(self, n): return self
    def __call__(self, *a, **k): return self
    def __repr__(self): return 'liar'
try: from IPython.display import display
except Exception: display = print
for make in (Wrong, Raises, Liar, Huge):
    try: display(make())
    except BaseException as e: print('display of', make.__name__, 'raised', type(e).__name__)
print('READY')
Wrong()
