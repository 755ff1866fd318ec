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


def close_idle():
    """Closes the loop, which has descriptors and perhaps threads, unless something waits in it. The
    next await makes another."""
    global _loop
    if _loop is None or _loop.is_closed() or _loop.is_running() or asyncio.all_tasks(_loop):
        return
    executor = _loop._default_executor
    if _loop._ready or _loop._scheduled or (executor is not None and is_busy(executor)):
        return
    if executor is not None:
        executor.shutdown(wait=True)
    _loop.close()
    _loop = None
    asyncio.set_event_loop(None)


def is_busy(executor):
    idle = executor._idle_semaphore._value
    return executor._work_queue.qsize() > 0 or idle < len(executor._threads)


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
