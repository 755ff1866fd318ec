"""get_ipython(), without paying for IPython before something really needs it.

Libraries ask whether there is an IPython and which, and then do nothing else with it: pandas wants
to know whether tables may be wide. They get a stand-in that answers these questions and becomes the
real shell at the first other one.
"""
import sys

import _cicada_hooks as hooks

_shell = None


def existing():
    """The real shell if there is one by now."""
    return _shell


def shell():
    """The real shell; makes it the first time."""
    global _shell
    if _shell is None:
        with hooks.Ours():
            _shell = hooks.own_import("_cicada_magics").make_shell()
    return _shell


def get_ipython():
    """The running shell."""
    return _stand_in if _shell is None else _shell


class ZMQInteractiveShell:
    """Its name is how libraries recognise a front end that shows more than text."""

    kernel = None

    def __getattr__(self, name):
        return getattr(shell(), name)

    def __setattr__(self, name, value):
        setattr(shell(), name, value)

    @property
    def __class__(self):
        if "IPython.core.interactiveshell" in sys.modules:
            return type(shell())
        return ZMQInteractiveShell


_stand_in = ZMQInteractiveShell()
