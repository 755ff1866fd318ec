/* share_door.c -- coming in by a link: who is let in, and what the others are told. */
#include "api/share_door.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "api/page.h"
#include "base/clock.h"
#include "base/scope.h"
#include "http/cookie.h"
#include "http/exchange.h"
#include "http/syntax.h"
#include "service/file_object.h"
#include "workspace/passwords.h"

static const char cookie_name[] = "cicada_share";

enum { FORM_MAX = 8 << 10 };

/* ---- headers ---- */

void share_page_headers(struct call *c)
{
    http_add_header(c->x, "Referrer-Policy", "same-origin"); /* a form has to say its origin */
    http_add_header(c->x, "Content-Security-Policy",
                    "default-src 'none'; style-src 'self'; img-src 'self' data:; "
                    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
                    "sandbox allow-forms allow-same-origin allow-downloads");
    http_add_header(c->x, "X-Robots-Tag", "noindex, nofollow");
    http_add_header(c->x, "Cross-Origin-Resource-Policy", "same-origin");
}

void share_bytes_headers(struct call *c)
{
    http_add_header(c->x, "Referrer-Policy", "no-referrer");
    http_add_header(c->x, "Content-Security-Policy",
                    "sandbox; default-src 'none'; frame-ancestors 'none'");
    http_add_header(c->x, "X-Robots-Tag", "noindex, nofollow");
    http_add_header(c->x, "Cross-Origin-Resource-Policy", "same-origin");
}

struct str share_hide(struct str path)
{
    if (path.len > 3 && memcmp(path.ptr, "/s/", 3) == 0)
        return str_of("/s/...");
    return path.len > 6 && memcmp(path.ptr, "/join/", 6) == 0 ? str_of("/join/...") : path;
}

bool share_wants_json(const struct call *c)
{
    struct str list = http_header_get(c->request, "Accept"), one;
    bool is_json = false;
    while (http_list_next(&list, &one)) {
        one = str_trim(str_upto(one, str_find(one, ';')));
        if (http_same(one, "text/html"))
            return false;
        is_json = is_json || http_same(one, "application/json");
    }
    return is_json;
}

void share_url(struct buf *out, const struct call *c, const char *door, const char *path)
{
    buf_fmt(out, "/s/%s%s", c->param[0], door);
    url_path(out, path);
}

/* ---- in ---- */

static int enter(struct call *c, struct err *e)
{
    struct share_visit *v = calloc(1, sizeof *v);
    if (!v)
        return err_set(e, ERR_NO_MEMORY, "open a link");
    if (shares_enter(c->api->o.files, c->param[0], clock_wall_us(), v, e)) {
        free(v);
        return -1;
    }
    c->share = v;
    c->is_admitted = true;
    return 0;
}

void share_leave(struct call *c)
{
    if (c->share)
        share_visit_done(c->share);
    free(c->share);
    c->share = NULL;
}

static int guess(struct call *c, struct str text, struct err *e)
{
    int64_t wait_ms = 0;
    if (!shares_unlock(c->api->o.passwords, c->share, c->param[0], c->request->peer->address, text,
                       &wait_ms, e))
        return 0;
    if (wait_ms)
        c->retry_after_s = (uint32_t)((wait_ms + 999) / 1000);
    return -1;
}

static bool has_pass(struct call *c)
{
    const struct http_request *r = c->request;
    for (size_t i = 0; i < r->header_count; i++) {
        if (!http_same(r->headers[i].name, "Cookie"))
            continue;
        struct str pass = cookie_get(r->headers[i].value, cookie_name);
        if (pass.ptr && shares_pass_check(c->api->o.sign_key, &c->share->share,
                                          clock_wall_us() / 1000000, pass))
            return true;
    }
    return false;
}

static int ask_password(struct call *c, struct err *e)
{
    c->hint = "Send it as X-Share-Password, or in the form of the page; never in the address.";
    return err_set(e, ERR_UNAUTHORIZED, "this link has a password");
}

int share_admit(struct call *c, struct err *e)
{
    struct str text = http_header_get(c->request, "X-Share-Password");
    struct err wrong = {0};
    if (enter(c, e)) {
        /* A guess at nothing costs what another costs. */
        if (text.ptr && e->code == ERR_NOT_FOUND && guess(c, text, &wrong) &&
            wrong.code != ERR_UNAUTHORIZED)
            *e = wrong;
        return -1;
    }
    if (!c->share->share.password || has_pass(c))
        return 0;
    return text.ptr ? guess(c, text, e) : ask_password(c, e);
}

int share_admit_any(struct call *c, struct err *e)
{
    struct err why = {0};
    if (!enter(c, &why) || why.code == ERR_NOT_FOUND)
        return 0;
    *e = why;
    return -1;
}

int share_may(struct call *c, enum share_right right, struct err *e)
{
    if (c->share->share.rights & right)
        return 0;
    c->hint = "Ask whoever gave you the link for another one.";
    for (size_t i = 0; share_right_names[i]; i++)
        if (right & 1u << i)
            return err_set(e, ERR_DENIED, "this link does not allow to %s", share_right_names[i]);
    return err_set(e, ERR_DENIED, "this link does not allow that");
}

/* ---- the form with the password ---- */

static void give_pass(struct call *c)
{
    char pass[SHARE_PASS_SIZE];
    bool is_tls = c->request->peer->is_tls ||
                  http_same(http_header_get(c->request, "X-Forwarded-Proto"), "https");
    shares_pass_make(c->api->o.sign_key, &c->share->share, clock_wall_us() / 1000000, pass);
    http_add_header(c->x, "Set-Cookie",
                    "%s=%s; Path=/s/%s; Max-Age=%d; HttpOnly; SameSite=Strict%s", cookie_name, pass,
                    c->param[0], SHARE_PASS_S, is_tls ? "; Secure" : "");
}

static int read_form(struct call *c, struct buf *ret, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(FORM_MAX);
    struct str type = http_header_get(c->request, "Content-Type");
    type = str_trim(str_upto(type, str_find(type, ';')));
    if (!http_same(type, "application/x-www-form-urlencoded"))
        return err_set(e, ERR_UNSUPPORTED, "send a form with the field password");
    if (http_read_all(c->x, FORM_MAX, &body, e))
        return -1;
    const struct http_request form = {.query = {body.bytes, body.len}};
    return http_query_get(&form, "password", ret, e) < 0 ? -1 : 0;
}

int share_unlock(struct call *c, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(FORM_MAX);
    if (read_form(c, &text, e))
        return -1;
    bool needs_none = c->share && !c->share->share.password;
    if (!needs_none && guess(c, (struct str){text.bytes ? text.bytes : "", text.len}, e))
        return c->share || e->code != ERR_UNAUTHORIZED ? -1 : shares_gone(e);
    if (!needs_none)
        give_pass(c);
    share_page_headers(c);
    http_add_header(c->x, "Location", "/s/%s", c->param[0]);
    c->status = 303;
    c->type = "text/html; charset=utf-8";
    return 0;
}

/* ---- what failed ---- */

static const char *title_of(enum err_code code)
{
    switch (code) {
    case ERR_NOT_FOUND: return "This link does not work";
    case ERR_LIMIT: return "Too many attempts";
    case ERR_DENIED: return "Not allowed";
    case ERR_TOO_LARGE:
    case ERR_QUOTA:
    case ERR_NO_SPACE: return "Too large";
    case ERR_LOCKED: return "Locked";
    case ERR_CONFLICT:
    case ERR_INVALID: return "That did not work";
    default: return "Something went wrong";
    }
}

/* Nothing of where things lie, or of who holds them. */
static const char *text_of(const struct err *e)
{
    switch (e->code) {
    case ERR_NOT_FOUND:
        return "It does not exist, has expired or was taken back, or what it led to is gone. "
               "Ask whoever gave it to you for a new one.";
    case ERR_LOCKED: return "Somebody is working on this just now. Try again later.";
    case ERR_CONFLICT: return "A file cannot be stored under this name. Choose another.";
    case ERR_QUOTA:
    case ERR_NO_SPACE: return "There is no room for this. Nothing was stored.";
    case ERR_TOO_LARGE: return "A file is too large. Nothing was stored.";
    default: return e->text;
    }
}

static void tell_password(struct call *c, const struct err *e)
{
    (void)e;
    scoped(buf_done) struct buf action = BUF_INIT(1024);
    bool is_wrong =
        c->op->run == share_unlock || http_header_get(c->request, "X-Share-Password").ptr;
    share_url(&action, c, "", "");
    page_block(&c->out, share_html, "head", PAGE_WITH({"title", "Password needed"}));
    page_block(&c->out, share_html, "password",
               PAGE_WITH({"action", action.bytes},
                         {"text", is_wrong ? "That was not the password. Try again."
                                           : "Whoever gave you the link can tell you."}));
}

static void tell_other(struct call *c, const struct err *e)
{
    scoped(buf_done) struct buf back = BUF_INIT(1024);
    page_block(&c->out, share_html, "head", PAGE_WITH({"title", title_of(e->code)}));
    page_block(&c->out, share_html, "failed",
               PAGE_WITH({"title", title_of(e->code)}, {"text", text_of(e)}));
    if (!c->share || e->code == ERR_NOT_FOUND)
        return;
    share_url(&back, c, "", "");
    page_block(&c->out, share_html, "back", PAGE_WITH({"href", back.bytes}));
}

void share_tell(struct call *c, const struct err *e, const char *hint)
{
    share_page_headers(c);
    if (share_wants_json(c)) {
        bool is_ours = e->code == ERR_NOT_FOUND || e->code == ERR_LOCKED; /* not of the API */
        write_error(&c->out, e->code, text_of(e), is_ours ? NULL : hint, c->id);
        return;
    }
    c->type = "text/html; charset=utf-8";
    (e->code == ERR_UNAUTHORIZED ? tell_password : tell_other)(c, e);
    page_block(&c->out, share_html, "foot", NULL);
}
