"""Top-level await: one event loop for the whole session, running while a cell awaits."""
import _signal

import _cicada_hooks as hooks

asyncio = hooks.own_import("asyncio")
_loop = None


def loop():
    global _loop
    if _loop is None or _loop.is_closed():
        _loop = asyncio.new_event_loop()
    asyncio.set_event_loop(_loop)  # asyncio.run() in some cell may have left none
    return _loop


def wait(coroutine):
    task = loop().create_task(coroutine)
    interrupted = False

    def on_interrupt(number, frame):
        # While a task computes, the exception should hit it where it is. While all are waiting, it
        # would hit the loop; cancelling shows in the traceback what was being waited for.
        nonlocal interrupted
        if asyncio.current_task(_loop) is not None or interrupted or task.done():
            raise KeyboardInterrupt
        interrupted = True
        task.cancel()
        _loop.call_soon_threadsafe(lambda: None)

    previous = _signal.signal(_signal.SIGINT, on_interrupt)
    try:
        return _loop.run_until_complete(task)
    except asyncio.CancelledError as error:
        if not interrupted:
            raise
        raise KeyboardInterrupt().with_traceback(error.__traceback__) from None
    finally:
        if _signal.getsignal(_signal.SIGINT) is on_interrupt:
            _signal.signal(_signal.SIGINT, previous)
        if not task.done():
            abandon(task)


def abandon(task):
    task.cancel()
    try:
        _loop.run_until_complete(task)
    except BaseException:
        pass  # the exception that ended the run is on its way already
