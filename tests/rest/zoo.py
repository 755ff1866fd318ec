"""What must be alive and equal after a session has slept, and what keeps it from sleeping.

    ALIVE      (name, setup, check): check raises unless all is as setup left it. It may be run after
               every sleep, any number of times; what it uses up it puts back
    REFUSED    (name, setup, words, undo): after setup the session does not sleep, and one of the reasons
               contains the words; after undo it does
    IN_JAIL    as ALIVE, for sessions in a sandbox: what lies in its /tmp and /dev/shm

All are plain code for one and the same session. Names begin with that of their entry.
"""

ALIVE = [
    ("numbers", "numbers = [1, 2.5, 3j, 10**50, True, None, b'x', 'text', range(3), {1, 2}, {'a': (1,)}]",
     "assert numbers == [1, 2.5, 3j, 10**50, True, None, b'x', 'text', range(3), {1, 2}, {'a': (1,)}]"),
    ("frame", """
import pandas as pd, numpy as np
frame = pd.DataFrame({'a': np.arange(1000.0), 'b': [str(i % 7) for i in range(1000)]})
frame['when'] = pd.date_range('2024-01-01', periods=1000)
frame_hash = int(pd.util.hash_pandas_object(frame).sum())
frame_described = frame.describe().to_html()
""", """
assert int(pd.util.hash_pandas_object(frame).sum()) == frame_hash
assert frame.describe().to_html() == frame_described
assert frame.groupby('b').a.sum().sum() == frame.a.sum()
"""),
    ("array", "import numpy as np\narray = np.random.default_rng(5).normal(size=(300, 300))\n"
     "array_sum, array_view = array.sum(), array[1:, ::2]",
     "assert array.sum() == array_sum and array_view.base is array and np.linalg.inv(array).shape == (300, 300)"),
    ("figure", """
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
figure = Figure(figsize=(3, 2))
figure_axes = figure.subplots()
figure_line, = figure_axes.plot([1, 2, 3])
figure_axes.set_title('before')
import io
def figure_bytes():
    out = io.BytesIO()
    figure.savefig(out, format='raw')
    return out.getvalue()
figure_before = figure_bytes()
""", """
assert figure_bytes() == figure_before and len(figure_before) > 10000
assert figure_axes.lines[0] is figure_line
figure_axes.set_title('after'); assert figure_bytes() != figure_before
figure_axes.set_title('before'); assert figure_bytes() == figure_before
"""),
    ("plot", "import matplotlib.pyplot as plt", "plt.plot([1, 2]); plt.title('\\u4e2d $x^2$'); plt.show()"),
    ("lambda_", "lambda_n = 3\nlambda_ = lambda x: x * lambda_n", "assert lambda_(4) == 12"),
    ("closure", """
def closure_make():
    n = 0
    def up(by=1):
        nonlocal n
        n += by
        return n
    return up
closure = closure_make(); closure()
""", "assert closure(0) >= 1 and closure() == closure(0) == closure(0)"),
    ("generator", """
def generator_make():
    n = 0
    while True:
        try:
            n += (yield n) or 1
        except ValueError:
            n = 0
generator = generator_make()
generator_last = [next(generator) for _ in range(5)][-1]
""", "generator_last += 1\nassert next(generator) == generator_last\n"
     "assert generator.send(10) == generator_last + 10\ngenerator_last += 10"),
    ("iterators", """
import itertools
iterators_cycle = itertools.cycle('abc'); next(iterators_cycle)
iterators_count = itertools.count(7); iterators_seen = next(iterators_count)
iterators_zip = zip(range(10**9), itertools.repeat('x')); iterators_step = next(iterators_zip)[0]
iterators_letters = 'bca' * 1000; iterators_at = 0
""", """
assert next(iterators_cycle) == iterators_letters[iterators_at]; iterators_at += 1
assert next(iterators_count) == iterators_seen + 1; iterators_seen += 1
assert next(iterators_zip) == (iterators_step + 1, 'x'); iterators_step += 1
"""),
    ("class_", """
import enum, dataclasses, abc
class ClassBase(abc.ABC):
    @abc.abstractmethod
    def f(self): ...
@dataclasses.dataclass
class Class_(ClassBase):
    x: int
    def f(self): return self.x + 1
class ClassColor(enum.Enum):
    RED = 1
class_ = Class_(4); class_alias = class_; class_color = ClassColor.RED
class_id = id(Class_)
""", """
assert type(class_) is Class_ and id(Class_) == class_id and class_alias is class_ and class_.f() == 5
assert isinstance(class_, ClassBase) and class_ == Class_(4) and class_color is ClassColor(1)
"""),
    ("models", """
import numpy as np, warnings
from sklearn.linear_model import LinearRegression
from sklearn.ensemble import RandomForestClassifier
models_x = np.random.default_rng(1).normal(size=(100, 3)); models_y = (models_x[:, 0] > 0).astype(int)
models_line = LinearRegression().fit(models_x, models_y)
models_forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(models_x, models_y)
models_said = models_line.predict(models_x), models_forest.predict_proba(models_x)
""", """
assert (models_line.predict(models_x) == models_said[0]).all()
assert (models_forest.predict_proba(models_x) == models_said[1]).all()
"""),
    ("kmeans", "from sklearn.cluster import KMeans\nimport numpy as np\n"
     "kmeans_x = np.random.default_rng(2).normal(size=(200, 2))\n"
     "kmeans = KMeans(3, n_init=2, random_state=0).fit(kmeans_x); kmeans_said = kmeans.predict(kmeans_x)",
     "assert (kmeans.predict(kmeans_x) == kmeans_said).all()\n"
     "assert abs(KMeans(3, n_init=2, random_state=0).fit(kmeans_x).inertia_ - kmeans.inertia_) < 1e-6"),
    ("blas", "import numpy as np\nblas = np.random.default_rng(3).normal(size=(400, 400)); blas_said = blas @ blas",
     "assert np.allclose(blas @ blas, blas_said)"),
    ("sympy", "import sympy\nsympy_x = sympy.Symbol('x'); sympy_said = sympy.integrate(sympy.sin(sympy_x)**2, sympy_x)",
     "assert sympy.integrate(sympy.sin(sympy_x)**2, sympy_x) == sympy_said\n"
     "assert sympy.Symbol('x') is sympy_x and sympy.latex(sympy_said)"),
    ("graph", "import networkx as nx\ngraph = nx.path_graph(5); graph.nodes[0]['a'] = graph",
     "assert nx.shortest_path_length(graph, 0, 4) == 4 and graph.nodes[0]['a'] is graph"),
    ("sqlite_memory", """
import sqlite3
sqlite_memory = sqlite3.connect(':memory:')
sqlite_memory.execute('create table t (n)')
sqlite_memory.executemany('insert into t values (?)', [(i,) for i in range(100)])
sqlite_cursor = sqlite_memory.execute('select n from t order by n'); sqlite_cursor.fetchmany(5)
""", """
assert sqlite_memory.execute('select sum(n) from t').fetchone() == (4950,)
assert sqlite_memory.in_transaction
row = sqlite_cursor.fetchone(); assert row is None or row[0] >= 5
"""),
    ("sqlite_file", """
import sqlite3
sqlite_file = sqlite3.connect('zoo.db')
sqlite_file.execute('pragma journal_mode=wal')
sqlite_file.execute('create table if not exists t (n)'); sqlite_file.execute('delete from t')
sqlite_file.execute('insert into t values (1)'); sqlite_file.commit()
""", """
sqlite_file.execute('insert into t values (1)'); sqlite_file.commit()
sqlite_n = sqlite_file.execute('select count(*) from t').fetchone()[0]
other = sqlite3.connect('zoo.db')
assert other.execute('select count(*) from t').fetchone()[0] == sqlite_n >= 2
assert other.execute('pragma integrity_check').fetchone() == ('ok',)
other.close(); del other
"""),
    ("file", """
file = open('zoo.txt', 'w+'); file.write('0123456789'); file.flush(); file.seek(4)
file_add = open('zoo-add.txt', 'a'); file_add.write('begin'); file_add.flush()
file_buffered = open('zoo-buffered.bin', 'wb', buffering=1 << 16); file_buffered.write(b'not flushed yet')
file_lines = open('zoo-lines.txt', 'w'); file_lines.write('\\n'.join(map(str, range(5000)))); file_lines.close()
file_lines = open('zoo-lines.txt'); file_line = int(next(file_lines))
""", """
assert file.tell() == 4 and file.read() == '456789'; file.seek(4)
file_add.write('+'); file_add.flush(); assert open('zoo-add.txt').read().startswith('begin+')
file_buffered.write(b'!'); file_buffered.flush()
assert open('zoo-buffered.bin', 'rb').read().startswith(b'not flushed yet!')
assert int(next(file_lines)) == file_line + 1; file_line += 1
"""),
    ("nameless", """
import tempfile
nameless = tempfile.TemporaryFile(); nameless.write(b'0123456789'); nameless.seek(3)
nameless_removed = open('zoo-removed.txt', 'w+'); nameless_removed.write('gone'); nameless_removed.flush()
import os; os.unlink('zoo-removed.txt')
try:
    nameless_memory = os.memfd_create('zoo'); os.write(nameless_memory, b'in memory'); os.lseek(nameless_memory, 3, 0)
except PermissionError:  # where memory is watched and not limited by a cgroup there are none
    nameless_memory = None
""", """
assert nameless.tell() == 3 and nameless.read() == b'3456789'; nameless.seek(3)
nameless_removed.seek(0); assert nameless_removed.read() == 'gone' and not os.path.exists('zoo-removed.txt')
if nameless_memory is not None:
    assert os.read(nameless_memory, 9) == b'memory' and os.lseek(nameless_memory, 3, 0) == 3
"""),
    ("descriptors", """
import os
descriptors = [os.open('zoo-fd.bin', os.O_RDWR | os.O_CREAT, 0o600)]
os.write(descriptors[0], b'0123456789'); os.lseek(descriptors[0], 2, os.SEEK_SET)
descriptors += [os.dup(descriptors[0]), os.open('zoo-fd.bin', os.O_RDONLY), os.open('.', os.O_RDONLY), os.dup(1)]
os.set_inheritable(descriptors[2], True)
""", """
assert os.read(descriptors[0], 2) == b'23' and os.read(descriptors[1], 2) == b'45'
assert os.read(descriptors[2], 1) == b'0' and os.get_inheritable(descriptors[2])
assert not os.get_inheritable(descriptors[0]) and 'zoo-fd.bin' in os.listdir(descriptors[3])
os.lseek(descriptors[1], 2, os.SEEK_SET); os.lseek(descriptors[2], 0, os.SEEK_SET)
os.write(descriptors[4], b'')
"""),
    ("locked", """
import fcntl
locked = open('zoo-lock.txt', 'w'); fcntl.flock(locked, fcntl.LOCK_EX)
locked_part = open('zoo-lock.bin', 'w'); fcntl.lockf(locked_part, fcntl.LOCK_EX, 10, 5)
""", """
other = open('zoo-lock.txt')
try:
    fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB); assert False, 'nobody holds the lock'
except BlockingIOError:
    pass
other.close(); del other
import subprocess, sys
ask = "import fcntl; fcntl.lockf(open('zoo-lock.bin', 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)"
assert b'BlockingIOError' in subprocess.run([sys.executable, '-c', ask], capture_output=True).stderr
"""),
    ("memmap", """
import numpy as np
memmap = np.memmap('zoo.mm', dtype='int64', mode='w+', shape=10000); memmap[:] = range(10000); memmap.flush()
memmap_read = np.memmap('zoo.mm', dtype='int64', mode='r')
""", """
assert memmap.sum() == sum(range(10000)); memmap[3] = 5
assert memmap_read[3] == 5 and np.fromfile('zoo.mm', dtype='int64')[3] == 5; memmap[3] = 3
"""),
    ("locks", """
import threading, queue
locks = threading.Lock(), threading.RLock(), threading.Event(), threading.Condition(), queue.Queue()
locks[0].acquire(); locks[1].acquire(); locks[2].set(); locks[4].put('item')
""", """
assert locks[0].locked() and locks[2].is_set() and not locks[0].acquire(blocking=False)
locks[1].release(); locks[1].acquire()
with locks[3]: locks[3].notify_all()
assert locks[4].get_nowait() == 'item'; locks[4].put('item')
"""),
    ("handlers", """
import signal
handlers_seen = []
def handlers_on(number, frame): handlers_seen.append(number)
signal.signal(signal.SIGUSR1, handlers_on); signal.signal(signal.SIGUSR2, signal.SIG_IGN)
""", """
signal.raise_signal(signal.SIGUSR1); assert handlers_seen.pop() == signal.SIGUSR1 and not handlers_seen
signal.raise_signal(signal.SIGUSR2); assert signal.getsignal(signal.SIGUSR2) is signal.SIG_IGN
"""),
    ("interrupt", "import signal", """
try:
    signal.raise_signal(signal.SIGINT); assert False, 'no interrupt'
except KeyboardInterrupt:
    pass
"""),
    ("error", """
import traceback
try:
    {}['missing']
except KeyError as caught:
    error = caught
error_text = ''.join(traceback.format_exception(error))
""", "assert ''.join(traceback.format_exception(error)) == error_text and 'missing' in error_text"),
    ("place", "import os\nos.makedirs('zoo-folder', exist_ok=True); place_top = os.getcwd(); place = os.path.abspath('zoo-folder')",
     "os.chdir(place); assert os.getcwd() == place; os.chdir(place_top)"),
    ("umask", "import os; os.umask(0o027)",
     "umask_now = os.umask(0o027); assert umask_now == 0o027, umask_now"),
    ("environ", "import os; os.environ['ZOO'] = 'animal'; os.environ.pop('ZOO_NONE', None)",
     "import subprocess\nassert os.environ['ZOO'] == 'animal' and os.getenv('ZOO_NONE') is None\n"
     "assert subprocess.run('echo $ZOO', shell=True, capture_output=True, text=True).stdout == 'animal\\n'"),
    ("late", "import audioop, _curses, crypt\nlate = audioop.avg(b'\\1\\0\\2\\0', 2), crypt.crypt('a', 'ab')",
     "assert late == (audioop.avg(b'\\1\\0\\2\\0', 2), crypt.crypt('a', 'ab')) and _curses.error"),
    ("imports", "imports_before = 0",
     "import ossaudiodev, nis, sqlite3.dbapi2, scipy.misc, sklearn.semi_supervised, wave, xmlrpc.client"),
    ("random", """
import random, numpy as np
random_own, random_rng, random_state = random.Random(5), np.random.default_rng(5), np.random.RandomState(5)
random.seed(1); np.random.seed(1); random.random(); np.random.rand(); random_own.gauss(0, 1)
random_next = []
""", """
def random_draw():
    return (random.random(), np.random.rand(), random_own.gauss(0, 1), random_rng.normal(), random_state.normal())
random_kept = (random.getstate(), np.random.get_state(), random_own.getstate(), random_rng.bit_generator.state,
               random_state.get_state())
random_now = random_draw()
random.setstate(random_kept[0]); np.random.set_state(random_kept[1]); random_own.setstate(random_kept[2])
random_rng.bit_generator.state = random_kept[3]; random_state.set_state(random_kept[4])
assert not random_next or random_next == [random_now], 'random numbers changed'
random_next = [random_now]
"""),
    ("asyncio", """
import asyncio
async def asyncio_f(n):
    await asyncio.sleep(0)
    return n + 1
asyncio_said = await asyncio_f(1)
""", """
assert await asyncio_f(asyncio_said) == 3
assert await asyncio.gather(asyncio_f(1), asyncio_f(2)) == [2, 3]
assert await asyncio.to_thread(sum, [1, 2]) == 3
"""),
    ("coroutine", """
async def coroutine_f():
    for n in range(10**9):
        yield n
coroutine = coroutine_f(); coroutine_n = await coroutine.__anext__()
""", "coroutine_n += 1; assert await coroutine.__anext__() == coroutine_n"),
    ("subprocess", "import subprocess, sys",
     "assert subprocess.run([sys.executable, '-c', 'print(6*7)'], capture_output=True).stdout == b'42\\n'"),
    ("popen", "import subprocess; popen = subprocess.Popen(['sh', '-c', 'exit 3']); popen.wait()",
     "assert popen.poll() == 3 and popen.returncode == 3"),
    ("pool", "import multiprocessing",
     "with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, 2, -3]) == [1, 2, 3]\npool.join(); del pool"),
    ("threads", "import threading, concurrent.futures\nthreads_old = threading.Thread(target=int); threads_old.start(); threads_old.join()",
     """
assert not threads_old.is_alive()
with concurrent.futures.ThreadPoolExecutor(3) as threads_pool:
    assert list(threads_pool.map(abs, [-1, 2])) == [1, 2]
del threads_pool
"""),
    ("depth", "def depth(n): return 0 if n == 0 else 1 + depth(n - 1)",
     "assert depth(900) == 900\ntry:\n    depth(10**6); assert False\nexcept RecursionError:\n    pass"),
    ("memory", "import numpy as np",
     "memory = np.ones(100 << 20, dtype='u1'); assert memory.sum() == 100 << 20; del memory\n"
     "memory = [str(i) for i in range(200000)]; assert memory[77] == '77'; del memory"),
    ("weak", "import weakref, gc\nclass Weak: pass\nweak_target = Weak(); weak = weakref.ref(weak_target)\n"
     "weak_map = weakref.WeakValueDictionary(a=weak_target)",
     "assert weak() is weak_target and weak_map['a'] is weak_target\nother = Weak(); gone = weakref.ref(other)\n"
     "del other; gc.collect(); assert gone() is None; del gone"),
    ("cycle", "cycle = []; cycle.append(cycle); cycle_dict = {}; cycle_dict['self'] = cycle_dict",
     "assert cycle[0] is cycle and cycle_dict['self'] is cycle_dict"),
    ("cache", "import functools\n@functools.lru_cache\ndef cache(n): return object()\ncache_said = cache(1)",
     "assert cache(1) is cache_said"),
    ("context", "import contextvars, decimal, locale\ncontext = contextvars.ContextVar('context', default=0); context.set(5)\n"
     "decimal.getcontext().prec = 9; context_third = decimal.Decimal(1) / 3",
     "assert decimal.Decimal(1) / 3 == context_third == decimal.Decimal('0.333333333')\nassert context.get() == 5"),
    ("time", "import time; time_then = time.time(), time.monotonic()",
     "assert time.time() >= time_then[0] and time.sleep(0.001) is None and time.perf_counter() > 0"),
    ("text", "import re, io, csv, zipfile, json\ntext_buffer = io.StringIO('a,b\\n1,2\\n3,4\\n5,6\\n' * 1000)\n"
     "text_rows = csv.reader(text_buffer); text_row = next(text_rows)\ntext_match = re.match('(?P<a>x)', 'xy')\n"
     "text_zip = io.BytesIO(); zipfile.ZipFile(text_zip, 'w').writestr('a', 'b' * 1000)",
     "assert len(next(text_rows)) == 2 and text_match['a'] == 'x' and json.loads('[1]') == [1]"),
    ("history", "history = 6 * 7\nhistory", "assert 42 in Out.values() and any('6 * 7' in code for code in In)"),
    ("images", "from PIL import Image\nimages = Image.new('RGB', (20, 20), (1, 2, 3)); images.putpixel((3, 3), (9, 9, 9))",
     "assert images.getpixel((3, 3)) == (9, 9, 9) and images.rotate(90).size == (20, 20)"),
    ("tree", "import xml.etree.ElementTree as ElementTree, lxml.etree\ntree = ElementTree.fromstring('<a><b c=\"d\"/></a>')\n"
     "tree_lxml = lxml.etree.fromstring('<a><b c=\"d\"/></a>')",
     "assert tree.find('b').get('c') == 'd' and tree_lxml.xpath('//b/@c') == ['d']"),
    ("ctypes_", "import ctypes\nctypes_ = (ctypes.c_int * 5)(1, 2, 3)\n"
     "ctypes_call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: n + 1)",
     "assert list(ctypes_) == [1, 2, 3, 0, 0] and ctypes_call(4) == 5 and ctypes.CDLL(None).abs(-3) == 3"),
    ("openpyxl", "import openpyxl\nopenpyxl_book = openpyxl.Workbook(); openpyxl_book.active['A1'] = 5",
     "openpyxl_book.save('zoo.xlsx'); assert openpyxl.load_workbook('zoo.xlsx').active['A1'].value == 5"),
    ("magic", "magic_out = get_ipython().getoutput('echo 5')", "!echo 6 > zoo-magic.txt\nassert open('zoo-magic.txt').read() == '6\\n'\n"
     "assert magic_out == ['5']"),
]

IN_JAIL = [
    ("tmp", """
import os, tempfile
tmp = tempfile.mkdtemp(dir='/tmp'); tmp_file = open(tmp + '/a.txt', 'w+'); tmp_file.write('in tmp'); tmp_file.flush()
os.symlink('a.txt', tmp + '/link'); os.mkdir(tmp + '/inner', 0o500); open('/dev/shm/zoo', 'w').write('in shm')
tmp_file.seek(3)
""", """
assert tmp_file.read() == 'tmp' and open(tmp + '/link').read() == 'in tmp'; tmp_file.seek(3)
assert os.stat(tmp + '/inner').st_mode & 0o777 == 0o500 and open('/dev/shm/zoo').read() == 'in shm'
"""),
]

REFUSED = [
    ("thread", "import threading\nthread_end = threading.Event()\nthread = threading.Thread(target=thread_end.wait, name='waiter')\n"
     "thread.start()", "waiter", "thread_end.set(); thread.join()"),
    ("executor", "import concurrent.futures\nexecutor = concurrent.futures.ThreadPoolExecutor(1)\n"
     "executor.submit(int).result()", "ThreadPoolExecutor", "executor.shutdown()"),
    ("timer", "import threading\ntimer = threading.Timer(3600, print); timer.start()", "threads are running",
     "timer.cancel(); timer.join()"),
    ("child", "import subprocess\nchild = subprocess.Popen(['sleep', '3600'])", "(sleep 3600)", "child.kill(); child.wait()"),
    ("forked", "import os, time\nforked = os.fork()\nif not forked:\n    time.sleep(3600)", "child processes",
     "import signal; os.kill(forked, signal.SIGKILL); os.waitpid(forked, 0)"),
    ("zombie", "import os, time\nzombie = os.fork()\nif not zombie:\n    os._exit(0)\n"
     "while open(f'/proc/{zombie}/stat').read().rpartition(')')[2].split()[0] != 'Z': time.sleep(0.001)",
     "not waited for", "os.waitpid(zombie, 0)"),
    ("workers", "import multiprocessing\nworkers = multiprocessing.Pool(1)", "child processes",
     "workers.close(); workers.join(); workers = None"),
    ("pipe", "import os\npipe = os.pipe()", "a pipe", "os.close(pipe[0]); os.close(pipe[1])"),
    ("reader", "import subprocess\nreader = subprocess.Popen(['sh', '-c', 'echo 1'], stdout=subprocess.PIPE); reader.wait()",
     "a pipe", "reader.stdout.close()"),
    ("socket_", "import socket\nsocket_ = socket.socketpair()", "a socket", "socket_[0].close(); socket_[1].close()"),
    ("poll", "import select\npoll = select.epoll()", "epoll", "poll.close()"),
    ("loop", "import asyncio\nloop = asyncio.new_event_loop()", "epoll", "loop.close()"),
    ("task", "import asyncio\nawait asyncio.sleep(0)\ntask = asyncio.ensure_future(asyncio.sleep(3600))", "epoll",
     "task.cancel()\nawait asyncio.sleep(0)\nawait asyncio.sleep(0)"),
    ("event", "import os\nevent = os.eventfd(0)", "an eventfd", "os.close(event)"),
    ("mapping", "import mmap\nmapping = mmap.mmap(-1, 4096)", "shared", "mapping.close()"),
    ("value", "import multiprocessing\nvalue = multiprocessing.RawValue('i', 5)", "has been removed",
     "del value; import multiprocessing.heap, gc; multiprocessing.heap.BufferWrapper._heap = multiprocessing.heap.Heap(); gc.collect()"),
    ("alarm", "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN); signal.alarm(3600)", "alarm", "signal.alarm(0)"),
    ("itimer", "import signal\nsignal.signal(signal.SIGVTALRM, signal.SIG_IGN); signal.setitimer(signal.ITIMER_VIRTUAL, 3600)",
     "alarm", "signal.setitimer(signal.ITIMER_VIRTUAL, 0)"),
]
