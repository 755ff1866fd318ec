#include "cli/sixel.h"

#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "session/kernel.h"

enum { SIXEL_WALL_MS = 20000 };

/* Each band of six rows is sent once per colour in it; runs of the same column are shortened. */
const char sixel_program[] =
    "def _cicada_sixel():\n"
    "    import base64, io, re, sys\n"
    "    import numpy as np\n"
    "    from PIL import Image\n"
    "    im = Image.open(io.BytesIO(base64.b64decode(input()))).convert('RGBA')\n"
    "    im.thumbnail((1000, 1000))\n"
    "    page = Image.new('RGBA', im.size, 'white')\n"
    "    page.alpha_composite(im)\n"
    "    page = page.convert('RGB').quantize(255)\n"
    "    pal = (page.getpalette() + [0] * 768)[:768]\n"
    "    px = np.asarray(page)\n"
    "    h, w = px.shape\n"
    "    px = np.vstack([px.astype(int), np.full((-h % 6, w), -1)])\n"
    "    out = ['\\033Pq\"1;1;%d;%d' % (w, h)]\n"
    "    for c in np.unique(px[:h]):\n"
    "        r, g, b = (v * 100 // 255 for v in pal[3 * c:3 * c + 3])\n"
    "        out.append('#%d;2;%d;%d;%d' % (c, r, g, b))\n"
    "    bits = np.array([1, 2, 4, 8, 16, 32])[:, None]\n"
    "    short = lambda m: '!%d%s' % (len(m[0]), m[1])\n"
    "    for y in range(0, len(px), 6):\n"
    "        band = px[y:y + 6]\n"
    "        for c in np.unique(band[band >= 0]):\n"
    "            row = (63 + ((band == c) * bits).sum(0)).astype('u1').tobytes().decode()\n"
    "            out.append('#%d' % c + re.sub(r'(.)\\1{3,}', short, row) + '$')\n"
    "        out.append('-')\n"
    "    sys.stdout.write(''.join(out) + '\\033\\\\\\n')\n"
    "_cicada_sixel()\n";

static int collect(void *arg, const struct run_event *event)
{
    struct buf *out = arg;
    if (event->kind == RUN_STDOUT)
        buf_add(out, event->bytes, event->len);
    return out->failed;
}

int sixel_image(struct kernel *k, const char *bytes, size_t len, struct buf *out, struct err *e)
{
    scoped(buf_done) struct buf input = BUF_INIT(STDIN_MAX);
    base64_add(&input, bytes, len);
    if (buf_check(&input, e))
        return err_wrap(e, "the image is too large to be shown");
    const struct run_spec spec = {.code = sixel_program,
                                  .code_len = sizeof sixel_program - 1,
                                  .name = "<image>",
                                  .stdin_text = input.bytes,
                                  .stdin_len = input.len,
                                  .wall_ms = SIXEL_WALL_MS};
    const struct run_sink sink = {collect, out};
    struct run run;
    if (kernel_run(k, &spec, &sink, &run, e))
        return -1;
    bool is_done = run.end == END_OK && !out->failed;
    if (!is_done)
        err_set(e, ERR_UNAVAILABLE, "the session could not turn it into sixels: %.100s",
                run.error.message ? run.error.message : run_end_name(run.end));
    run_done(&run);
    return is_done ? 0 : -1;
}
