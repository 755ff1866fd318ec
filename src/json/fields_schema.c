/* JSON Schema from the tables of fields.h. */
#include <string.h>

#include "json/fields.h"
#include "json/fields_int.h"
#include "json/write.h"

static void put_type(struct json_writer *w, const char *type, bool is_nullable)
{
    jw_key(w, "type");
    if (!is_nullable) {
        jw_text(w, type);
        return;
    }
    jw_array(w);
    jw_text(w, type);
    jw_text(w, "null");
    jw_end_array(w);
}

static void put_milli(struct json_writer *w, int64_t v)
{
    char text[MILLI_TEXT_SIZE];
    milli_text(v, text);
    jw_raw(w, text, strlen(text));
}

static void put_count(struct json_writer *w, const char *key, int64_t v)
{
    if (v <= 0)
        return;
    jw_key(w, key);
    jw_i64(w, v);
}

/* Schema counts characters and we count bytes: of n bytes are at most n characters and at least a
 * quarter of n. */
static void put_text_limits(struct json_writer *w, int64_t min, int64_t max)
{
    put_count(w, "minLength", (min + 3) / 4);
    put_count(w, "maxLength", max);
}

static void put_number_limits(const struct json_field *f, struct json_writer *w)
{
    void (*put)(struct json_writer *, int64_t) = f->kind == JF_KIND_MILLI ? put_milli : jw_i64;
    if (has_min(f)) {
        jw_key(w, "minimum");
        put(w, f->min);
    }
    if (f->max != 0) {
        jw_key(w, "maximum");
        put(w, f->max);
    }
}

static void put_choices(const struct json_field *f, struct json_writer *w, bool is_nullable)
{
    jw_key(w, "enum");
    jw_array(w);
    for (size_t i = 0; f->choices[i]; i++)
        jw_text(w, f->choices[i]);
    if (is_nullable)
        jw_null(w);
    jw_end_array(w);
}

static void put_flags(const struct json_field *f, struct json_writer *w)
{
    jw_array(w);
    for (unsigned i = 0; f->choices[i]; i++)
        if (f->preset >> i & 1)
            jw_text(w, f->choices[i]);
    jw_end_array(w);
}

/* What a field is when it is absent, where that can be said in its own words. */
static void put_default(const struct json_field *f, struct json_writer *w)
{
    bool is_text = f->kind == JF_KIND_TEXT || f->kind == JF_KIND_STR;
    if (f->required || f->is_open || f->kind >= JF_KIND_TEXTS || (is_text && !f->preset_text) ||
        (f->kind == JF_KIND_FLAGS && !f->preset))
        return;
    jw_key(w, "default");
    switch (f->kind) {
    case JF_KIND_BOOL: jw_bool(w, f->preset != 0); break;
    case JF_KIND_INT: jw_i64(w, f->preset); break;
    case JF_KIND_MILLI: put_milli(w, f->preset); break;
    case JF_KIND_CHOICE: jw_text(w, f->choices[f->preset]); break;
    case JF_KIND_FLAGS: put_flags(f, w); break;
    default: jw_text(w, f->preset_text); break;
    }
}

static void put_object(const struct json_field *table, struct json_writer *w, bool has_nulls);

static void put_items(const struct json_field *f, struct json_writer *w, bool has_nulls)
{
    jw_key(w, "items");
    jw_object(w);
    if (f->kind == JF_KIND_OBJECTS) {
        put_type(w, "object", /* is_nullable= */ false);
        put_object(f->table, w, has_nulls);
    } else {
        put_type(w, "string", /* is_nullable= */ false);
        if (f->kind == JF_KIND_FLAGS)
            put_choices(f, w, /* is_nullable= */ false);
        put_text_limits(w, 0, (int64_t)f->item_max);
    }
    jw_end_object(w);
    put_count(w, "minItems", f->min);
    put_count(w, "maxItems", f->max);
}

static void put_pairs(const struct json_field *f, struct json_writer *w)
{
    jw_key(w, "additionalProperties");
    jw_object(w);
    put_type(w, "string", /* is_nullable= */ false);
    put_text_limits(w, 0, (int64_t)f->item_max);
    jw_end_object(w);
    put_count(w, "minProperties", f->min);
    put_count(w, "maxProperties", f->max);
}

/* The members of a schema object that is open in `w`, without the description. `has_nulls`: what may be left
 * out may be null, and so may what is in it. */
static void put_schema(const struct json_field *f, struct json_writer *w, bool has_nulls)
{
    bool is_nullable = has_nulls && !f->required;
    switch (f->kind) {
    case JF_KIND_TEXT:
    case JF_KIND_STR:
        put_type(w, "string", is_nullable);
        put_text_limits(w, f->min, f->max);
        break;
    case JF_KIND_CHOICE:
        put_type(w, "string", is_nullable);
        put_choices(f, w, is_nullable);
        break;
    case JF_KIND_BOOL: put_type(w, "boolean", is_nullable); break;
    case JF_KIND_INT:
    case JF_KIND_MILLI:
        put_type(w, f->kind == JF_KIND_INT ? "integer" : "number", is_nullable);
        put_number_limits(f, w);
        break;
    case JF_KIND_FLAGS:
    case JF_KIND_TEXTS:
    case JF_KIND_OBJECTS:
        put_type(w, "array", is_nullable);
        put_items(f, w, has_nulls);
        break;
    case JF_KIND_PAIRS:
        put_type(w, "object", is_nullable);
        put_pairs(f, w);
        break;
    case JF_KIND_OBJECT:
        put_type(w, "object", is_nullable);
        put_object(f->table, w, has_nulls);
        break;
    case JF_KIND_JSON:
    case JF_KIND_NONE: break;
    }
    put_default(f, w);
}

static void put_doc(const struct json_field *f, struct json_writer *w)
{
    if (!f->doc)
        return;
    jw_key(w, "description");
    jw_text(w, f->doc);
}

static void put_required(const struct json_field *table, struct json_writer *w)
{
    bool has_any = false;
    for (const struct json_field *f = table; f->kind; f++)
        has_any |= f->required;
    if (!has_any)
        return;
    jw_key(w, "required");
    jw_array(w);
    for (const struct json_field *f = table; f->kind; f++)
        if (f->required)
            jw_text(w, f->name);
    jw_end_array(w);
}

/* properties, required and additionalProperties of the schema that is open in `w`. */
static void put_object(const struct json_field *table, struct json_writer *w, bool has_nulls)
{
    jw_key(w, "properties");
    jw_object(w);
    for (const struct json_field *f = table; f->kind; f++) {
        jw_key(w, f->name);
        jw_object(w);
        put_schema(f, w, has_nulls);
        put_doc(f, w);
        jw_end_object(w);
    }
    jw_end_object(w);
    put_required(table, w);
    jw_key(w, "additionalProperties");
    jw_bool(w, false);
}

void fields_schema(const struct json_field *table, struct json_writer *w)
{
    jw_object(w);
    put_type(w, "object", /* is_nullable= */ false);
    put_object(table, w, /* has_nulls= */ true);
    jw_end_object(w);
}

void fields_schema_plain(const struct json_field *table, struct json_writer *w)
{
    jw_object(w);
    put_type(w, "object", /* is_nullable= */ false);
    put_object(table, w, /* has_nulls= */ false);
    jw_end_object(w);
}

static bool is_list(const struct json_field *f)
{
    return f->kind == JF_KIND_FLAGS || f->kind == JF_KIND_TEXTS;
}

void fields_parameters(const struct json_field *table, const char *where, struct json_writer *w)
{
    for (const struct json_field *f = table; f->kind; f++) {
        jw_object(w);
        jw_key(w, "name");
        jw_text(w, f->name);
        jw_key(w, "in");
        jw_text(w, where);
        jw_key(w, "required");
        jw_bool(w, f->required);
        put_doc(f, w);
        if (is_list(f)) { /* a,b,c and not name=a&name=b */
            jw_key(w, "explode");
            jw_bool(w, false);
        }
        jw_key(w, "schema");
        jw_object(w);
        put_schema(f, w, /* has_nulls= */ false);
        jw_end_object(w);
        jw_end_object(w);
    }
}
