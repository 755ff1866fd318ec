#include "kernel/tell.h"

#include <string.h>

#include "base/scope.h"
#include "kernel/control.h"
#include "kernel/reads.h"

void tell_frame(struct buf *out, enum frame_kind kind, size_t mark)
{
    if (out->failed) {
        buf_done(out);
        out->failed = false;
        mark = frame_begin(out, kind);
    }
    frame_end(out, mark);
    PyThreadState *thread = PyEval_SaveThread();
    (void)control_tell(out);
    PyEval_RestoreThread(thread);
}

void tell(enum frame_kind kind)
{
    scoped(buf_done) struct buf out = BUF_INIT(FRAME_HEAD);
    tell_frame(&out, kind, frame_begin(&out, kind));
}

void tell_text(enum frame_kind kind, enum field_tag tag, const char *text)
{
    scoped(buf_done) struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX + FRAME_HEAD);
    size_t mark = frame_begin(&out, kind);
    field_put(&out, tag, text, strlen(text));
    tell_frame(&out, kind, mark);
}

void tell_all(enum frame_kind kind, const char *version, enum field_tag tag, PyObject *texts)
{
    scoped(buf_done) struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX + FRAME_HEAD);
    size_t mark = frame_begin(&out, kind);
    if (version)
        field_put(&out, FIELD_VERSION, version, strlen(version));
    for (Py_ssize_t i = 0; texts && PyList_Check(texts) && i < PyList_GET_SIZE(texts); i++) {
        PyObject *item = PyList_GET_ITEM(texts, i);
        const char *text = PyUnicode_Check(item) ? PyUnicode_AsUTF8(item) : NULL;
        if (text)
            field_put(&out, tag, text, strlen(text));
        PyErr_Clear();
    }
    tell_frame(&out, kind, mark);
}

void tell_done(void)
{
    scoped(buf_done) struct buf out =
        BUF_INIT(READS_BYTES_MAX + (READS_MAX + 2) * FIELD_HEAD + 3 * FRAME_HEAD);
    reads_end(&out);
    if (out.failed) { /* no memory for the list: all that is said is that there is more */
        buf_done(&out);
        size_t mark = frame_begin(&out, FRAME_READS);
        field_put_u32(&out, FIELD_PARTIAL, 1);
        frame_end(&out, mark);
    }
    tell_frame(&out, FRAME_DONE, frame_begin(&out, FRAME_DONE));
}
