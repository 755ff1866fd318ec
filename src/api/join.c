/* join.c -- /join/{token}: the page that an invitation leads to. workspace/tickets.h has the rules. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/api_int.h"
#include "api/join.h"
#include "api/page.h"
#include "api/share_door.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/syntax.h"
#include "workspace/files.h"
#include "workspace/passwords.h"
#include "workspace/tickets.h"

extern const char join_html[]; /* web/join/, made by tools/embed-text */

enum { FORM_MAX = 8 << 10 };

static const char html_type[] = "text/html; charset=utf-8";

void join_url(struct buf *out, const char *token)
{
    buf_fmt(out, "/join/%s", token);
}

static void begin_page(struct call *c, const char *title)
{
    share_page_headers(c);
    c->type = html_type;
    page_block(&c->out, share_html, "head", PAGE_WITH({"title", title}));
}

static void end_page(struct call *c)
{
    page_block(&c->out, share_html, "foot", NULL);
}

/* ---- the form ---- */

static void print_day(int64_t us, char ret[32])
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm utc = {0};
    (void)gmtime_r(&seconds, &utc); /* fails only for years that do not fit an int */
    (void)strftime(ret, 32, "%Y-%m-%d %H:%M UTC", &utc);
}

static void put_form(struct call *c, const struct invitation *i, const char *login,
                     const char *wrong)
{
    scoped(buf_done) struct buf action = BUF_INIT(512);
    char until[32];
    print_day(i->expires_us, until);
    join_url(&action, c->param[0]);
    page_block(&c->out, join_html, "form",
               PAGE_WITH({"workspace", i->workspace}, {"role", i->role}, {"inviter", i->inviter},
                         {"until", until}));
    if (wrong)
        page_block(&c->out, join_html, "wrong", PAGE_WITH({"text", wrong}));
    page_block(&c->out, join_html, "fields", PAGE_WITH({"action", action.bytes}, {"login", login}));
}

static int show(struct call *c, struct err *e)
{
    scoped(invitation_done) struct invitation i = {0};
    if (invite_look(c->api->o.files, c->param[0], &i, e))
        return -1;
    begin_page(c, "An invitation");
    put_form(c, &i, "", /* wrong= */ NULL);
    end_page(c);
    return 0;
}

/* ---- what came of it ---- */

static int read_form(struct call *c, struct buf *login, struct buf *password, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(FORM_MAX);
    struct str type = http_header_get(c->request, "Content-Type");
    type = str_trim(str_upto(type, str_find(type, ';')));
    if (!http_same(type, "application/x-www-form-urlencoded"))
        return err_set(e, ERR_UNSUPPORTED, "send a form with the fields login and password");
    if (http_read_all(c->x, FORM_MAX, &body, e))
        return -1;
    const struct http_request form = {.query = {body.bytes, body.len}};
    if (http_query_get(&form, "login", login, e) < 0 ||
        http_query_get(&form, "password", password, e) < 0)
        return -1;
    return 0;
}

static int show_again(struct call *c, const char *login, struct err *e)
{
    scoped(invitation_done) struct invitation i = {0};
    struct err gone = {0};
    if ((e->code != ERR_INVALID && e->code != ERR_CONFLICT) ||
        invite_look(c->api->o.files, c->param[0], &i, &gone))
        return -1;
    c->status = err_http(e->code);
    begin_page(c, "An invitation");
    put_form(c, &i, login, e->text);
    end_page(c);
    return 0;
}

static void show_joined(struct call *c, const char *workspace, const char *login,
                        struct signed_in *s)
{
    begin_page(c, "Welcome");
    page_block(&c->out, join_html, "joined",
               PAGE_WITH({"workspace", workspace}, {"login", login}, {"secret", s->secret}));
    end_page(c);
    signed_in_done(s);
}

static int join(struct call *c, struct err *e)
{
    scoped(buf_done) struct buf login = BUF_INIT(FORM_MAX), password = BUF_INIT(FORM_MAX);
    scoped(invitation_done) struct invitation i = {0};
    char workspace[ID_SIZE];
    struct signed_in s;
    if (read_form(c, &login, &password, e) || invite_look(c->api->o.files, c->param[0], &i, e))
        return -1;
    const struct newcomer n = {.passwords = c->api->o.passwords,
                               .token = c->param[0],
                               .login = login.bytes ? login.bytes : "",
                               .password = {password.bytes ? password.bytes : "", password.len}};
    int failed = invite_accept(c->api->o.files, &n, &s, workspace, e);
    if (password.bytes)
        explicit_bzero(password.bytes, password.len);
    if (failed)
        return show_again(c, n.login, e);
    show_joined(c, i.workspace, n.login, &s);
    return 0;
}

static void tell(struct call *c, const struct err *e, const char *hint)
{
    (void)hint;
    bool is_gone = e->code == ERR_NOT_FOUND;
    const char *title = is_gone ? "This invitation does not work" : "That did not work";
    begin_page(c, title);
    page_block(&c->out, share_html, "failed",
               PAGE_WITH({"title", title},
                         {"text", is_gone ? "It was used, was taken back, or has expired. Ask "
                                            "whoever gave it to you for a new one."
                                          : e->text}));
    end_page(c);
}

#define DOOR .flags = OP_PUBLIC, .needs = NEEDS_NOTHING, .tell = tell, .gives = "text/html"

static const struct op ops[] = {
    {.method = "GET",
     .path = "/join/{token}",
     .name = "openInvite",
     .summary = "The page of an invitation, for people.",
     DOOR,
     .status = 200,
     .run = show},
    {.method = "POST",
     .path = "/join/{token}",
     .name = "joinByForm",
     .summary = "What its form sends: a name and a password.",
     .flags = OP_PUBLIC | OP_RAW_BODY,
     .needs = NEEDS_NOTHING,
     .tell = tell,
     .gives = "text/html",
     .takes = "application/x-www-form-urlencoded",
     .form = "JoinForm",
     .status = 200,
     .run = join},
};

const struct op_table join_doors = {ops, sizeof ops / sizeof *ops};
