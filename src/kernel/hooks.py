"""Importing: our own imports are safe from the session's files, and some modules get a word in.

A session's directory comes first on sys.path, as it must. When the kernel itself needs a module for
the first time, a file token.py or random.py lying there must not be what it gets.
"""
import builtins
import os
import sys
from _frozen_importlib_external import PathFinder

from _cicada_start import system_path

_import = builtins.__import__
before = {}  # module name -> function called with the module before it is executed
after = {}  # the same, after
preloaded = frozenset()  # top-level names of what an image has imported
_set_aside = {}  # of those, what a file of the session has taken the place of
_seen = {}  # directory on sys.path -> its state when it was last looked through


def _is_shadow(name, module):
    """True for a module of the session that has the name of one of the standard library."""
    file = getattr(module, "__file__", None)
    return (
        name.partition(".")[0] in sys.stdlib_module_names
        and isinstance(file, str)
        and not file.startswith(system_path)
    )


class Ours:
    """While this holds, imports find the system's modules, whatever the session has put in their way."""

    def __enter__(self):
        self.path, self.hidden = sys.path, {}
        for key, module in list(sys.modules.items()):
            if _is_shadow(key, module):
                self.hidden[key] = sys.modules.pop(key)
        self.lent = [key for key in _set_aside if key not in sys.modules]
        sys.modules.update((key, _set_aside[key]) for key in self.lent)
        sys.path = list(system_path)

    def __exit__(self, *_):
        sys.path = self.path
        for key in self.lent:
            sys.modules.pop(key, None)
        sys.modules.update(self.hidden)


def own_import(name):
    """Imports the system's module of that name."""
    module = sys.modules.get(name)
    if module is not None and not _is_shadow(name, module):
        return module
    with Ours():
        _import(name)
        return sys.modules[name]


def make_way():
    """In a kernel from an image, libraries are there before any code has imported them. A file of the
    session that has the name of one is what its code means, as it would be in a fresh Python."""
    for path in sys.path if preloaded else ():
        if path in system_path:
            continue
        try:
            found = os.stat(path or ".")
            state = found.st_dev, found.st_ino, found.st_mtime_ns
            if _seen.get(path) != state:
                _seen[path] = state
                _forget_hidden(path or ".")
        except (OSError, TypeError):
            pass  # not a directory, or gone


def _forget_hidden(folder):
    for name in os.listdir(folder):
        stem, ending = os.path.splitext(name)
        is_module = ending == ".py" or os.path.exists(f"{folder}/{name}/__init__.py")
        if is_module and stem in preloaded and _is_system(sys.modules.get(stem)):
            for key in list(sys.modules):
                if key.partition(".")[0] == stem:
                    _set_aside[key] = sys.modules.pop(key)


def _is_system(module):
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and file.startswith(system_path)


def _call(hook, module):
    try:
        hook(module)
    except Exception:
        pass  # a session's own module of that name, or a version we do not know: leave it alone


class Finder:
    """First on sys.meta_path. Finds nothing itself; wraps the execution of the modules above."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in before and name not in after:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return None
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module):
            del loader.exec_module
            if name in before:
                _call(before[name], module)
            execute(module)
            if name in after:
                _call(after[name], module)

        loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder)
