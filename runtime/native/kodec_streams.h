/* Streamed units as tables in memory, for `runtime/native/streams.c`. Needs Python.h.
 *
 * A unit's entry in its module's table is a dict: `loose`, `local`, `parameters`, `fields`, `instances`, `steps`
 * (generator/targets/python/streams/tables.py writes it). References to its contents are borrowed: the unit holds the
 * entry. An unknown form is an error in the table, and raises ValueError. */
#ifndef KODEC_STREAMS_H
#define KODEC_STREAMS_H

#include "kodec_objects.h"

typedef struct ks_unit ks_unit;
typedef struct ks_expr ks_expr;
typedef struct ks_element ks_element;
typedef struct ks_step ks_step;

/* ------------------------------------------------------------------ expressions */

typedef enum {
  KS_FIELD, KS_ITEM, KS_INDEX, KS_THIS, KS_PARENT, KS_ROOT, KS_MEMBER, KS_LEN, KS_INT, KS_ENUM, KS_NEED, KS_NULL,
  KS_ELEMENT, KS_POS, KS_SIZE, KS_EOF, KS_NOT, KS_NEGATIVE, KS_INVERT, KS_IF, KS_AND, KS_OR, KS_ADD, KS_SUBTRACT,
  KS_MULTIPLY, KS_DIVIDE, KS_MODULO, KS_BITS_AND, KS_BITS_OR, KS_BITS_XOR, KS_LEFT, KS_RIGHT, KS_EQUAL, KS_DIFFERENT,
  KS_LESS, KS_AT_MOST, KS_MORE, KS_AT_LEAST, KS_DECODED, KS_LAST, KS_MIN, KS_MAX, KS_AS, KS_SHOWN, KS_PARSED, KS_PART,
  KS_TRUNCATED, KS_REVERSED, KS_LISTED, KS_OCTETS, KS_STREAM, KS_OPS, KS_CONSTANT = KS_OPS, KS_CALL
} ks_op;

/* The name of each, and its arguments: `v` an expression, `n` a name, `e` an enum, `t` the encoding of a text, `c` a class,
 * `l` several expressions, `f` a function, by which objects have the value (KS_CALL), while frames compute it
 * (kodec_frames.h). */
static const struct {
  const char *name, *parts;
} ks_ops[KS_OPS] = {
    [KS_FIELD] = {"field", "n"},     [KS_ITEM] = {"item", ""},         [KS_INDEX] = {"index", ""},
    [KS_THIS] = {"this", ""},        [KS_PARENT] = {"parent", "v"},    [KS_ROOT] = {"root", "v"},
    [KS_MEMBER] = {"member", "vn"},  [KS_LEN] = {"len", "v"},          [KS_INT] = {"int", "v"},
    [KS_ENUM] = {"enum", "ve"},      [KS_NEED] = {"need", "v"},        [KS_NULL] = {"null", "v"},
    [KS_ELEMENT] = {"element", "vv"}, [KS_POS] = {"pos", "v"},         [KS_SIZE] = {"size", "v"},
    [KS_EOF] = {"eof", "v"},         [KS_NOT] = {"not", "v"},          [KS_NEGATIVE] = {"negative", "v"},
    [KS_INVERT] = {"~", "v"},        [KS_IF] = {"if", "vvv"},          [KS_AND] = {"and", "vv"},
    [KS_OR] = {"or", "vv"},          [KS_ADD] = {"+", "vv"},           [KS_SUBTRACT] = {"-", "vv"},
    [KS_MULTIPLY] = {"*", "vv"},     [KS_DIVIDE] = {"/", "vv"},        [KS_MODULO] = {"%", "vv"},
    [KS_BITS_AND] = {"&", "vv"},     [KS_BITS_OR] = {"|", "vv"},       [KS_BITS_XOR] = {"^", "vv"},
    [KS_LEFT] = {"<<", "vv"},        [KS_RIGHT] = {">>", "vv"},        [KS_EQUAL] = {"==", "vv"},
    [KS_DIFFERENT] = {"!=", "vv"},   [KS_LESS] = {"<", "vv"},          [KS_AT_MOST] = {"<=", "vv"},
    [KS_MORE] = {">", "vv"},         [KS_AT_LEAST] = {">=", "vv"},
    [KS_DECODED] = {"text", "vtt"},  [KS_LAST] = {"last", "vf"},       [KS_MIN] = {"min", "vf"},
    [KS_MAX] = {"max", "vf"},        [KS_AS] = {"as", "vcf"},          [KS_SHOWN] = {"shown", "vf"},
    [KS_PARSED] = {"parsed", "vvf"}, [KS_PART] = {"part", "vvvf"},
    [KS_TRUNCATED] = {"whole", "vf"}, [KS_REVERSED] = {"reversed", "vf"}, [KS_LISTED] = {"list", "lf"},
    [KS_OCTETS] = {"octets", "vf"},  [KS_STREAM] = {"stream", "vf"},
};

/* A value: a 64-bit integer if `o` is NULL or an int of that value; otherwise `o`, an owned reference. */
typedef struct {
  PyObject *o;
  int64_t i;
  enum { KS_OBJECT, KS_WHOLE, KS_FLAG } kind;
} ks_val;

/* A value without a Python object (kodec_frames.h). */
typedef enum { KF_UNSET, KF_NULL, KF_INT, KF_BIG, KF_FLAG, KF_REAL, KF_BYTES, KF_TEXT, KF_NODE, KF_LIST, KF_STREAM, KF_READING } kf_kind;
typedef struct {
  union {
    int64_t i;  /* INT, FLAG; of BIG it is unsigned */
    double r;
    const uint8_t *p;
    struct kf_node *node;
    struct kf_list *list;
    struct kf_stream *io; /* of STREAM */
  } as;
  Py_ssize_t size; /* of BYTES and TEXT */
  uint8_t kind, encoding;
} kf_val;

enum { KS_SMALL_MEMBERS = 64, KS_SMALL_CASES = 256 };
typedef struct {
  PyObject *all; /* a dict from numbers to members, borrowed of the enum */
  PyObject *small[KS_SMALL_MEMBERS];
} ks_enum;

typedef enum { KS_UTF8, KS_ASCII, KS_LATIN1, KS_OTHER } ks_encoding;
enum { KF_AS_UTF8, KF_AS_LATIN1, KF_AS_ASCII };

/* How text is stored. */
typedef struct {
  ks_encoding encoding;
  uint8_t as; /* how a frame has it */
  const char *codec, *errors;
} ks_charset;

struct ks_expr {
  ks_op op;
  ks_charset charset;
  ks_val constant;   /* of KS_CONSTANT, borrowed */
  PyObject *value;   /* of KS_CALL and its like the function; of KS_FIELD and KS_MEMBER the name */
  PyObject *cls;     /* of KS_AS */
  ks_enum *members;
  ks_expr *part[3];  /* NULL if it is None */
  Py_ssize_t items;  /* of KS_LISTED */
  ks_expr **item;
  int constant_items; /* whether they all are constants */
  /* where an attribute was found last: its class, its slot, or the function that computes it; otherwise Python is
   * called */
  PyTypeObject *seen; /* a reference */
  Py_ssize_t slot, place; /* `place`: that of the slot in a frame, or -1 */
  ks_expr *computed;
  Py_ssize_t sought; /* the number of an instance that is read, or -1 */
  Py_ssize_t stands; /* that of an instance that depends on a stream, or -1 */
  kf_val frame;      /* of KS_CONSTANT, once it was asked for */
  /* in frames: whether it was looked at; then whether its value is a slot at an offset from the object at hand, or is
   * `computed` for the object there; and the place of the field through which that is reached, or -1 */
  uint8_t resolved, known;
  Py_ssize_t offset, via;
  struct kx_code *code; /* the same as a sequence of operations on numbers (kodec_numbers.h); NULL: there is none */
  uint8_t failed;       /* how often that did not do, up to a limit */
  uint8_t brief;        /* whether `kx_take_brief` does it */
  kf_kind makes;        /* what it makes */
  /* of what is reached from the outermost object, where it was in a run */
  uint64_t epoch;
  const struct kf_node *root;
  const kf_val *kept;
  uint8_t careful;   /* how often it was neither a whole number nor a flag, up to a limit */
  signed char alone; /* of a rule: 1 if it depends on the item alone, -1 if not, 0 if that is not known yet */
  kf_val passed;     /* of such a rule: the item for which it held last */
  uint8_t octets[16];
};

/* ------------------------------------------------------------------ elements and steps */

typedef enum { KS_U1, KS_S1, KS_U2, KS_S2, KS_U4, KS_S4, KS_U8, KS_S8, KS_F4, KS_F8, KS_WIRES, KS_BYTES = KS_WIRES, KS_BITS } ks_wire;
static const char *const ks_wires[] = {"u1", "s1", "u2", "s2", "u4", "s4", "u8", "s8", "f4", "f8", "bytes", "bits", NULL};
static const uint8_t ks_widths[KS_WIRES] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

typedef enum { KS_ANY_ORDER, KS_BE, KS_LE, KS_BY } ks_order;
static const char *const ks_orders[] = {"", "be", "le", "by", NULL};

/* What a number is turned into. */
typedef struct {
  int flag;
  ks_enum *members; /* NULL if it is unchanged */
} ks_cast;

typedef enum { KS_IN_FIXED, KS_IN_SIZE, KS_IN_REST, KS_IN_UNTIL } ks_within;
static const char *const ks_withins[] = {"fixed", "size", "rest", "until", NULL};

/* Which bytes are stored for a value. */
typedef struct {
  ks_within how;
  ks_expr *size;
  int early, include, consume, needed, pad; /* -1: no padding */
  int plain;                                /* whether it is a size, or the rest, and nothing else */
  const char *contents, *terminator;        /* NULL: none */
  Py_ssize_t fixed, ending;                 /* their sizes */
  PyObject *process, *whole;                /* `whole`: the contents as in the table; NULL if there are none */
  PyObject *by;                             /* the name of the process */
  Py_ssize_t arguments;
  ks_expr **argument; /* of the process */
} ks_bounds;

typedef enum { KS_E_NUMBER, KS_E_BITS, KS_E_BYTES, KS_E_TEXT, KS_E_OBJECT, KS_E_CHOICE } ks_kind;
static const char *const ks_kinds[] = {"number", "bits", "bytes", "text", "object", "choice", NULL};

typedef struct {
  Py_ssize_t values;
  ks_expr **value;
  ks_element *element;
} ks_case;

struct ks_element {
  ks_kind kind;
  ks_wire wire;
  ks_order order;
  int width;
  ks_cast cast;
  ks_bounds *bounds; /* NULL: none */
  ks_charset charset;
  /* of an object */
  PyTypeObject *cls;
  ks_unit *unit; /* NULL until it was looked up; borrowed from the class */
  int sought, simple; /* `simple`: a frame of its own needs nothing but the one around it */
  int own, rooted; /* whether its parent is the object that contains it; otherwise whether it has the root of that */
  Py_ssize_t arguments;
  ks_expr **argument;
  ks_expr *parent; /* NULL: none */
  PyObject *name;
  /* of a choice */
  ks_expr *on;
  Py_ssize_t cases;
  ks_case *chosen;
  ks_element *other; /* NULL: none */
  PyObject *numbers; /* a dict from values to the numbers of cases, a reference; NULL: they are computed, or few */
  Py_ssize_t last, last_value; /* the case that was found last */
  int16_t *small;              /* of small numbers 1 + the case, -1 if there is none, or 0 if that is not known yet; NULL: cases
                                  are computed */
};

/* How a frame takes a number of a fixed run: one case for each of the usual widths and orders. */
typedef enum {
  KS_BY_WIRE, KS_AS_U1, KS_AS_S1, KS_AS_U2LE, KS_AS_U2BE, KS_AS_S2LE, KS_AS_S2BE, KS_AS_U4LE, KS_AS_U4BE, KS_AS_S4LE, KS_AS_S4BE
} ks_load_as;

typedef struct {
  ks_load_as as;
  Py_ssize_t slot, place, offset;
  int size, shift, width;
  ks_wire wire;
  ks_order order;
  ks_cast cast;
  Py_ssize_t rules;
  ks_expr **rule;
} ks_slot;

typedef enum { KS_S_ALIGN, KS_S_ORDER, KS_S_WHEN, KS_S_FIXED, KS_S_ONE, KS_S_MANY, KS_S_BEGIN, KS_S_END } ks_what;
static const char *const ks_whats[] = {"align", "order", "when", "fixed", "one", "many", "begin", "end", NULL};

typedef enum { KS_BY_END, KS_BY_COUNT, KS_BY_UNTIL } ks_ends;
static const char *const ks_endings[] = {"end", "count", "until", NULL};

typedef struct {
  ks_expr *value;
  PyObject *little; /* a bool, or None */
} ks_order_case;

struct ks_step {
  ks_what what;
  Py_ssize_t slot, place; /* `place`: that of the slot in a frame (kodec_frames.h) */
  Py_ssize_t inlined;     /* where its object is in the frame of the one around it; 0: it has a frame of its own */
  ks_expr *test; /* the condition, the value that selects a byte order, the count or the end of a list */
  Py_ssize_t inner;
  ks_step *steps;
  Py_ssize_t size, slots;
  ks_slot *in;
  ks_element *element;
  Py_ssize_t rules; /* of KS_S_FIXED those of all its slots, which have them */
  ks_expr **rule;
  ks_ends ends;
  int64_t least;
  Py_ssize_t cases;
  ks_order_case *order;
  PyObject *other; /* of an order; of a field that begins or ends its name */
};

/* Where an instance is read: NULL where nothing has to hold, or it stands where the stream does, or in the object's. */
typedef struct {
  PyObject *name; /* of the attribute */
  ks_expr *test, *position, *stream;
} ks_place;

/* A class and its steps. */
struct ks_unit {
  PyObject_HEAD
  PyObject *cls, *table; /* the table is a function for all classes of the module */
  PyObject *entry;       /* NULL until it is first read */
  int loose;
  int checks, local; /* whether fields are derived of bytes, and of those of the object alone */
  Py_ssize_t parameters, fields;
  Py_ssize_t *parameter, *field; /* slots */
  PyObject **initial;            /* of fields */
  Py_ssize_t computed; /* instances that follow from others, by their names */
  PyObject **names;
  ks_expr **instance;
  Py_ssize_t steps;
  ks_step *step;
  Py_ssize_t reads; /* instances that are read, by their names */
  PyObject **sought;
  ks_step *read;
  ks_place *place; /* of each; NULL where the table has none */
  Py_ssize_t stands; /* instances that depend on where a stream stands, or on its size, by their names */
  PyObject **stand_name;
  ks_expr **stand;
  Py_ssize_t frame; /* the slots that objects of the class have of their own */
  uint8_t *asked;   /* of each of them whether an expression asks for it; NULL until it is needed */
  int prepared;     /* 1: it can be read without objects (kodec_frames.h); 2: that is being prepared */
  Py_ssize_t slots; /* of a frame, if it has nothing else */
  Py_ssize_t bytes; /* of a frame, with the objects in it that always come (`inlined`) */
  ks_step **inside; /* by place, the step whose object is in the frame, or NULL */
  struct kf_program *program, *apart; /* that read all of an object (kodec_program.h) */
  void *blocks; /* all that was allocated */
};

/* ------------------------------------------------------------------ from forms to tables; NULL or -1: an error */

typedef struct ks_memory {
  struct ks_memory *next;
  ks_expr *expr;   /* its content, if it is an expression */
  PyObject *owned; /* an owned reference to its content, or NULL */
  void *aligned;
} ks_memory;

static void *ks_new(ks_unit *unit, size_t count, size_t size) {
  ks_memory *const found = PyMem_Calloc(1, sizeof(ks_memory) + (count ? count : 1) * size);
  if (found == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  found->next = unit->blocks;
  unit->blocks = found;
  return found + 1;
}

static int ks_refuse(const ks_unit *unit, PyObject *form) {
  if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "%R: %R is no step of a reader", unit->cls, form);
  return -1;
}

/* The index of a text in `names`; -1 if it is not one of them. */
static int ks_named(PyObject *text, const char *const *names) {
  for (int i = 0; PyUnicode_Check(text) && names[i] != NULL; i++)
    if (PyUnicode_CompareWithASCIIString(text, names[i]) == 0) return i;
  return -1;
}

static int ks_named_by(const ks_unit *unit, PyObject *form, Py_ssize_t at, const char *const *names) {
  int found = -1;
  if (PyTuple_Check(form) && PyTuple_GET_SIZE(form) > at) found = ks_named(PyTuple_GET_ITEM(form, at), names);
  if (found < 0) ks_refuse(unit, form);
  return found;
}

static int ks_set_members(ks_unit *unit, PyObject *cls, ks_enum **to) {
  PyObject *const all = PyObject_GetAttrString(cls, "_value2member_map_");
  ks_enum *found;
  if (all == NULL) return -1;
  Py_DECREF(all); /* the enum keeps it */
  if (!PyDict_Check(all)) return ks_refuse(unit, cls);
  found = *to = ks_new(unit, 1, sizeof(ks_enum));
  if (found == NULL) return -1;
  found->all = all;
  for (long i = 0; i < KS_SMALL_MEMBERS; i++) {
    PyObject *const number = PyLong_FromLong(i);
    if (number == NULL) return -1;
    found->small[i] = PyDict_GetItemWithError(all, number);
    Py_DECREF(number);
    if (found->small[i] == NULL && PyErr_Occurred()) return -1;
  }
  return 0;
}

static int ks_set_cast(ks_unit *unit, PyObject *form, ks_cast *cast) {
  if (form == Py_None) return 0;
  if (form == (PyObject *)&PyBool_Type) {
    cast->flag = 1;
    return 0;
  }
  return ks_set_members(unit, form, &cast->members);
}

static int ks_set_charset(PyObject *form, Py_ssize_t at, ks_charset *to) {
  to->codec = PyUnicode_AsUTF8(PyTuple_GET_ITEM(form, at));
  to->errors = PyUnicode_AsUTF8(PyTuple_GET_ITEM(form, at + 1));
  if (to->codec == NULL || to->errors == NULL) return -1;
  to->encoding = strcmp(to->codec, "utf-8") == 0        ? KS_UTF8
                 : strcmp(to->codec, "ascii") == 0      ? KS_ASCII
                 : strcmp(to->codec, "iso8859-1") == 0 || strcmp(to->codec, "latin-1") == 0 ? KS_LATIN1
                                                        : KS_OTHER;
  to->as = to->encoding == KS_LATIN1 ? KF_AS_LATIN1 : to->encoding == KS_ASCII ? KF_AS_ASCII : KF_AS_UTF8;
  return 0;
}

/* A value to use; steals the reference `o`. */
static ks_val ks_val_of(PyObject *o) {
  ks_val found = {o, 0, KS_OBJECT};
  int overflow;
  if (PyBool_Check(o)) {
    found.i = o == Py_True;
    found.kind = KS_FLAG;
  } else if (PyLong_Check(o)) {
    found.i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) found.kind = KS_WHOLE;
  }
  return found;
}

static int ks_exprs_of(ks_unit *unit, PyObject *forms, Py_ssize_t *count, ks_expr ***to);

static ks_expr *ks_expr_of(ks_unit *unit, PyObject *form) {
  ks_expr *const found = ks_new(unit, 1, sizeof(ks_expr));
  const char *parts;
  int op = 0, inner = 0;
  if (found == NULL) return NULL;
  ((ks_memory *)(void *)found - 1)->expr = found;
  found->slot = found->place = -1;
  if (!PyTuple_Check(form)) {
    found->op = PyFunction_Check(form) ? KS_CALL : KS_CONSTANT;
    found->value = form;
    if (found->op == KS_CONSTANT) found->constant = ks_val_of(form);
    return found;
  }
  while (op < KS_OPS && (PyTuple_GET_SIZE(form) == 0 || !PyUnicode_Check(PyTuple_GET_ITEM(form, 0)) ||
                         PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(form, 0), ks_ops[op].name)))
    op++;
  if (op == KS_OPS || PyTuple_GET_SIZE(form) != 1 + (Py_ssize_t)strlen(ks_ops[op].parts)) {
    ks_refuse(unit, form);
    return NULL;
  }
  found->op = (ks_op)op;
  parts = ks_ops[op].parts;
  for (int i = 0; parts[i]; i++) {
    PyObject *const part = PyTuple_GET_ITEM(form, 1 + i);
    if (parts[i] == 't') {
      if (ks_set_charset(form, 1 + i++, &found->charset) < 0) return NULL;
    } else if (parts[i] == 'n') {
      found->value = part;
    } else if (parts[i] == 'f' || parts[i] == 'c') {
      if (parts[i] == 'f' ? !PyFunction_Check(part) : !PyType_Check(part)) return ks_refuse(unit, form), NULL;
      *(parts[i] == 'f' ? &found->value : &found->cls) = part;
    } else if (parts[i] == 'l') {
      if (ks_exprs_of(unit, part, &found->items, &found->item) < 0) return NULL;
      found->constant_items = 1;
      for (Py_ssize_t j = 0; j < found->items; j++) found->constant_items &= found->item[j]->op == KS_CONSTANT;
    } else if (parts[i] == 'e') {
      if (ks_set_members(unit, part, &found->members) < 0) return NULL;
    } else if (part != Py_None || (op != KS_POS && op != KS_SIZE && op != KS_EOF && op != KS_PARENT && op != KS_ROOT && op != KS_STREAM)) {
      found->part[inner] = ks_expr_of(unit, part);
      if (found->part[inner++] == NULL) return NULL;
    }
  }
  return found;
}

/* The expressions of a tuple. */
static int ks_exprs_of(ks_unit *unit, PyObject *forms, Py_ssize_t *count, ks_expr ***to) {
  if (!PyTuple_Check(forms)) return ks_refuse(unit, forms);
  *count = PyTuple_GET_SIZE(forms);
  *to = ks_new(unit, (size_t)*count, sizeof(ks_expr *));
  if (*to == NULL) return -1;
  for (Py_ssize_t i = 0; i < *count; i++)
    if (((*to)[i] = ks_expr_of(unit, PyTuple_GET_ITEM(forms, i))) == NULL) return -1;
  return 0;
}

static int ks_octets(const ks_unit *unit, PyObject *form, const char **to, Py_ssize_t *size) {
  if (!PyBytes_Check(form)) return ks_refuse(unit, form);
  *to = PyBytes_AS_STRING(form);
  *size = PyBytes_GET_SIZE(form);
  return 0;
}

static ks_bounds *ks_bounds_of(ks_unit *unit, PyObject *form) {
  ks_bounds *const found = ks_new(unit, 1, sizeof(ks_bounds));
  const int how = ks_named_by(unit, form, 0, ks_withins);
  PyObject *more, *each;
  if (found == NULL || how < 0) return NULL;
  found->how = (ks_within)how;
  found->consume = found->needed = 1;
  found->pad = -1;
  if (PyTuple_GET_SIZE(form) < 2) return ks_refuse(unit, form), NULL;
  if (how == KS_IN_FIXED) {
    found->whole = PyTuple_GET_ITEM(form, 1);
    if (ks_octets(unit, found->whole, &found->contents, &found->fixed) < 0) return NULL;
  }
  if (how == KS_IN_SIZE && (found->size = ks_expr_of(unit, PyTuple_GET_ITEM(form, 1))) == NULL) return NULL;
  if (PyTuple_GET_SIZE(form) > 2) {
    more = PyTuple_GET_ITEM(form, 2);
    if (!PyDict_Check(more)) return ks_refuse(unit, form), NULL;
    if ((each = PyDict_GetItemString(more, "early")) != NULL) found->early = each == Py_True;
    if ((each = PyDict_GetItemString(more, "include")) != NULL) found->include = each == Py_True;
    if ((each = PyDict_GetItemString(more, "consume")) != NULL) found->consume = each == Py_True;
    if ((each = PyDict_GetItemString(more, "needed")) != NULL) found->needed = each == Py_True;
    if ((each = PyDict_GetItemString(more, "pad")) != NULL) found->pad = (int)PyLong_AsLong(each);
    if ((each = PyDict_GetItemString(more, "terminator")) != NULL &&
        ks_octets(unit, each, &found->terminator, &found->ending) < 0)
      return NULL;
    found->process = PyDict_GetItemString(more, "process");
    if ((each = PyDict_GetItemString(more, "by")) != NULL) {
      if (!PyTuple_Check(each) || PyTuple_GET_SIZE(each) != 2) return ks_refuse(unit, form), NULL;
      found->by = PyTuple_GET_ITEM(each, 0);
      if (ks_exprs_of(unit, PyTuple_GET_ITEM(each, 1), &found->arguments, &found->argument) < 0) return NULL;
    }
  }
  if (PyErr_Occurred() || (how == KS_IN_UNTIL && found->ending == 0)) return ks_refuse(unit, form), NULL;
  found->plain = (how == KS_IN_REST || (how == KS_IN_SIZE && found->size != NULL)) && found->pad < 0 && found->terminator == NULL;
  return found;
}

static int ks_set_bounds(ks_unit *unit, PyObject *form, ks_bounds **to) {
  if (form == Py_None) return 0;
  return (*to = ks_bounds_of(unit, form)) == NULL ? -1 : 0;
}

/* Prepare a lookup of the cases of a choice, if there are many and no value must be computed. */
static int ks_set_numbers(ks_unit *unit, ks_element *choice) {
  enum { FEW = 4 };
  Py_ssize_t values = 0;
  for (Py_ssize_t i = 0; i < choice->cases; i++)
    for (Py_ssize_t j = 0; j < choice->chosen[i].values; j++, values++)
      if (choice->chosen[i].value[j]->op != KS_CONSTANT) return 0;
  choice->small = ks_new(unit, KS_SMALL_CASES, sizeof(int16_t));
  if (choice->small == NULL) return -1;
  if (values <= FEW) return 0;
  choice->numbers = PyDict_New();
  if (choice->numbers == NULL) return -1;
  ((ks_memory *)(void *)choice - 1)->owned = choice->numbers;
  for (Py_ssize_t i = 0; i < choice->cases; i++) {
    PyObject *const number = PyLong_FromSsize_t(i);
    int status = number == NULL ? -1 : 0;
    for (Py_ssize_t j = 0; j < choice->chosen[i].values && status == 0; j++)
      if (PyDict_SetDefault(choice->numbers, choice->chosen[i].value[j]->value, number) == NULL) status = -1;
    Py_XDECREF(number);
    if (status < 0) return -1;
  }
  return 0;
}

static ks_element *ks_element_of(ks_unit *unit, PyObject *form) {
  static const Py_ssize_t sizes[] = {4, 4, 2, 4, 5, 5};
  ks_element *const found = ks_new(unit, 1, sizeof(ks_element));
  const int kind = ks_named_by(unit, form, 0, ks_kinds);
  PyObject *cases;
  int wire, order;
  if (found == NULL || kind < 0) return NULL;
  if (PyTuple_GET_SIZE(form) != sizes[kind] && (kind != KS_E_OBJECT || PyTuple_GET_SIZE(form) != 7))
    return ks_refuse(unit, form), NULL;
  found->kind = (ks_kind)kind;
  switch (found->kind) {
    case KS_E_NUMBER:
      wire = ks_named_by(unit, form, 1, ks_wires);
      order = ks_named_by(unit, form, 2, ks_orders);
      if (wire < 0 || order < 0) return NULL;
      if (wire >= KS_WIRES) return ks_refuse(unit, form), NULL;
      found->wire = (ks_wire)wire;
      found->order = (ks_order)order;
      return ks_set_cast(unit, PyTuple_GET_ITEM(form, 3), &found->cast) < 0 ? NULL : found;
    case KS_E_BITS:
      order = ks_named_by(unit, form, 2, ks_orders);
      found->width = (int)PyLong_AsLong(PyTuple_GET_ITEM(form, 1));
      if (order < 0 || found->width < 0 || found->width > 64) return ks_refuse(unit, form), NULL;
      found->order = (ks_order)order;
      return ks_set_cast(unit, PyTuple_GET_ITEM(form, 3), &found->cast) < 0 ? NULL : found;
    case KS_E_TEXT:
      if (ks_set_charset(form, 2, &found->charset) < 0) return NULL;
      /* fall through */
    case KS_E_BYTES: return ks_set_bounds(unit, PyTuple_GET_ITEM(form, 1), &found->bounds) < 0 ? NULL : found;
    case KS_E_OBJECT:
      if (!PyType_Check(PyTuple_GET_ITEM(form, 1))) return ks_refuse(unit, form), NULL;
      found->cls = (PyTypeObject *)PyTuple_GET_ITEM(form, 1);
      found->name = PyTuple_GET_ITEM(form, 2);
      if (ks_exprs_of(unit, PyTuple_GET_ITEM(form, 3), &found->arguments, &found->argument) < 0 ||
          ks_set_bounds(unit, PyTuple_GET_ITEM(form, 4), &found->bounds) < 0)
        return NULL;
      found->own = PyTuple_GET_SIZE(form) == 5;
      if (found->own) return found;
      found->rooted = PyTuple_GET_ITEM(form, 6) == Py_True;
      if (PyTuple_GET_ITEM(form, 5) != Py_None &&
          (found->parent = ks_expr_of(unit, PyTuple_GET_ITEM(form, 5))) == NULL)
        return NULL;
      return found;
    default: break;
  }
  cases = PyTuple_GET_ITEM(form, 2);
  if (!PyTuple_Check(cases)) return ks_refuse(unit, form), NULL;
  found->cases = PyTuple_GET_SIZE(cases);
  found->chosen = ks_new(unit, (size_t)found->cases, sizeof(ks_case));
  if (found->chosen == NULL || (found->on = ks_expr_of(unit, PyTuple_GET_ITEM(form, 1))) == NULL) return NULL;
  for (Py_ssize_t i = 0; i < found->cases; i++) {
    PyObject *const each = PyTuple_GET_ITEM(cases, i);
    if (!PyTuple_Check(each) || PyTuple_GET_SIZE(each) != 2) return ks_refuse(unit, form), NULL;
    if (ks_exprs_of(unit, PyTuple_GET_ITEM(each, 0), &found->chosen[i].values, &found->chosen[i].value) < 0 ||
        (found->chosen[i].element = ks_element_of(unit, PyTuple_GET_ITEM(each, 1))) == NULL)
      return NULL;
  }
  if (ks_set_numbers(unit, found) < 0) return NULL;
  if (PyTuple_GET_ITEM(form, 3) != Py_None &&
      (found->other = ks_element_of(unit, PyTuple_GET_ITEM(form, 3))) == NULL)
    return NULL;
  return ks_set_bounds(unit, PyTuple_GET_ITEM(form, 4), &found->bounds) < 0 ? NULL : found;
}

static int ks_set_attribute(const ks_unit *unit, PyObject *form, Py_ssize_t at, Py_ssize_t *slot) {
  *slot = kd_slot((PyTypeObject *)unit->cls, PyTuple_GET_ITEM(form, at));
  return *slot < 0 ? -1 : 0;
}

static ks_load_as ks_loaded_as(ks_wire wire, ks_order order) {
  if (wire <= KS_S1) return wire == KS_U1 ? KS_AS_U1 : KS_AS_S1;
  if (wire > KS_S4 || (order != KS_LE && order != KS_BE)) return KS_BY_WIRE;
  return (ks_load_as)(KS_AS_U2LE + 2 * (wire - KS_U2) + (order == KS_BE));
}

static int ks_slot_of(ks_unit *unit, PyObject *form, ks_slot *found) {
  const Py_ssize_t parts = PyTuple_Check(form) ? PyTuple_GET_SIZE(form) : 0;
  int wire, order;
  if ((parts != 5 && parts != 7 && parts != 9) || ks_set_attribute(unit, form, 0, &found->slot) < 0)
    return ks_refuse(unit, form);
  wire = ks_named_by(unit, form, 3, ks_wires);
  order = ks_named_by(unit, form, 4, ks_orders);
  if (wire < 0 || order < 0 || (wire == KS_BITS) != (parts == 9)) return ks_refuse(unit, form);
  found->offset = PyLong_AsSsize_t(PyTuple_GET_ITEM(form, 1));
  found->size = (int)PyLong_AsLong(PyTuple_GET_ITEM(form, 2));
  found->wire = (ks_wire)wire;
  found->order = (ks_order)order;
  found->as = ks_loaded_as(found->wire, found->order);
  if (parts == 9) {
    found->shift = (int)PyLong_AsLong(PyTuple_GET_ITEM(form, 7));
    found->width = (int)PyLong_AsLong(PyTuple_GET_ITEM(form, 8));
    if (found->shift < 0 || found->width < 1 || found->shift + found->width > 64 || found->size > 8)
      return ks_refuse(unit, form);
  }
  if (PyErr_Occurred()) return -1;
  if (parts == 5) return 0;
  if (ks_set_cast(unit, PyTuple_GET_ITEM(form, 5), &found->cast) < 0) return -1;
  return ks_exprs_of(unit, PyTuple_GET_ITEM(form, 6), &found->rules, &found->rule);
}

static int ks_steps_of(ks_unit *unit, PyObject *forms, Py_ssize_t *count, ks_step **to);

static int ks_step_of(ks_unit *unit, PyObject *form, int kept, ks_step *found) {
  static const Py_ssize_t sizes[] = {1, 4, 3, 3, 4, 7, 2, 2};
  const int what = ks_named_by(unit, form, 0, ks_whats);
  PyObject *inner;
  int ends;
  if (what < 0) return -1;
  if (PyTuple_GET_SIZE(form) != sizes[what]) return ks_refuse(unit, form);
  found->what = (ks_what)what;
  switch (found->what) {
    case KS_S_ALIGN: return 0;
    case KS_S_BEGIN:
    case KS_S_END:
      found->other = PyTuple_GET_ITEM(form, 1);
      return PyUnicode_Check(found->other) ? 0 : ks_refuse(unit, form);
    case KS_S_ORDER:
      inner = PyTuple_GET_ITEM(form, 2);
      found->other = PyTuple_GET_ITEM(form, 3);
      if ((found->test = ks_expr_of(unit, PyTuple_GET_ITEM(form, 1))) == NULL) return -1;
      if (!PyTuple_Check(inner)) return ks_refuse(unit, form);
      found->cases = PyTuple_GET_SIZE(inner);
      found->order = ks_new(unit, (size_t)found->cases, sizeof(ks_order_case));
      if (found->order == NULL) return -1;
      for (Py_ssize_t i = 0; i < found->cases; i++) {
        PyObject *const each = PyTuple_GET_ITEM(inner, i);
        if (!PyTuple_Check(each) || PyTuple_GET_SIZE(each) != 2) return ks_refuse(unit, form);
        found->order[i].little = PyTuple_GET_ITEM(each, 1);
        if ((found->order[i].value = ks_expr_of(unit, PyTuple_GET_ITEM(each, 0))) == NULL) return -1;
      }
      return 0;
    case KS_S_WHEN:
      if ((found->test = ks_expr_of(unit, PyTuple_GET_ITEM(form, 1))) == NULL) return -1;
      return ks_steps_of(unit, PyTuple_GET_ITEM(form, 2), &found->inner, &found->steps);
    case KS_S_FIXED:
      inner = PyTuple_GET_ITEM(form, 2);
      found->size = PyLong_AsSsize_t(PyTuple_GET_ITEM(form, 1));
      if (PyErr_Occurred() || !PyTuple_Check(inner)) return ks_refuse(unit, form);
      found->slots = PyTuple_GET_SIZE(inner);
      found->in = ks_new(unit, (size_t)found->slots, sizeof(ks_slot));
      if (found->in == NULL) return -1;
      for (Py_ssize_t i = 0; i < found->slots; i++) {
        if (ks_slot_of(unit, PyTuple_GET_ITEM(inner, i), &found->in[i]) < 0) return -1;
        if (found->in[i].offset < 0 || found->in[i].size < 0 ||
            found->in[i].offset > found->size - found->in[i].size)
          return ks_refuse(unit, form);
        found->rules += found->in[i].rules;
      }
      return 0;
    default: break;
  }
  /* an instance is no attribute */
  if (kept && ks_set_attribute(unit, form, 1, &found->slot) < 0) return -1;
  if ((found->element = ks_element_of(unit, PyTuple_GET_ITEM(form, 2))) == NULL) return -1;
  if (ks_exprs_of(unit, PyTuple_GET_ITEM(form, 3), &found->rules, &found->rule) < 0) return -1;
  if (found->what == KS_S_ONE) return 0;
  ends = ks_named_by(unit, form, 4, ks_endings);
  if (ends < 0) return -1;
  found->ends = (ks_ends)ends;
  found->least = PyLong_AsLongLong(PyTuple_GET_ITEM(form, 6));
  if (PyErr_Occurred()) return -1;
  if (ends == KS_BY_END) return 0;
  return (found->test = ks_expr_of(unit, PyTuple_GET_ITEM(form, 5))) == NULL ? -1 : 0;
}

static int ks_steps_of(ks_unit *unit, PyObject *forms, Py_ssize_t *count, ks_step **to) {
  if (!PyTuple_Check(forms)) return ks_refuse(unit, forms);
  *count = PyTuple_GET_SIZE(forms);
  *to = ks_new(unit, (size_t)*count, sizeof(ks_step));
  if (*to == NULL) return -1;
  for (Py_ssize_t i = 0; i < *count; i++)
    if (ks_step_of(unit, PyTuple_GET_ITEM(forms, i), 1, &(*to)[i]) < 0) return -1;
  return 0;
}

static int ks_place_of(ks_unit *unit, PyObject *form, ks_place *to) {
  ks_expr **const parts[] = {&to->test, &to->position, &to->stream};
  if (!PyTuple_Check(form) || PyTuple_GET_SIZE(form) != 4) return ks_refuse(unit, form);
  to->name = PyTuple_GET_ITEM(form, 0);
  for (int i = 0; i < 3; i++)
    if (PyTuple_GET_ITEM(form, 1 + i) != Py_None &&
        (*parts[i] = ks_expr_of(unit, PyTuple_GET_ITEM(form, 1 + i))) == NULL)
      return -1;
  return 0;
}

/* Make the tables of a unit, at its first use. */
static int ks_begin(ks_unit *unit) {
  PyObject *all, *found;
  Py_ssize_t at = 0, i = 0;
  PyObject *key, *value;
  if (KD_LIKELY(unit->entry != NULL)) return 0;
  all = PyObject_CallNoArgs(unit->table);
  if (all == NULL) return -1;
  found = PyDict_Check(all) ? PyDict_GetItemWithError(all, unit->cls) : NULL;
  if (found == NULL || !PyDict_Check(found)) {
    Py_DECREF(all);
    return ks_refuse(unit, unit->cls);
  }
  Py_INCREF(found);
  Py_DECREF(all);
  unit->loose = PyDict_GetItemString(found, "loose") == Py_True;
  unit->checks = (value = PyDict_GetItemString(found, "local")) != NULL;
  unit->local = value == Py_True;
  if ((value = PyDict_GetItemString(found, "parameters")) != NULL && PyTuple_Check(value)) {
    unit->parameters = PyTuple_GET_SIZE(value);
    unit->parameter = ks_new(unit, (size_t)unit->parameters, sizeof(Py_ssize_t));
    if (unit->parameter == NULL) goto failed;
    for (i = 0; i < unit->parameters; i++)
      if (ks_set_attribute(unit, value, i, &unit->parameter[i]) < 0) goto failed;
  }
  if ((value = PyDict_GetItemString(found, "fields")) != NULL && PyDict_Check(value)) {
    PyObject *const fields = value;
    unit->fields = PyDict_GET_SIZE(fields);
    unit->field = ks_new(unit, (size_t)unit->fields, sizeof(Py_ssize_t));
    unit->initial = ks_new(unit, (size_t)unit->fields, sizeof(PyObject *));
    if (unit->field == NULL || unit->initial == NULL) goto failed;
    for (i = 0; PyDict_Next(fields, &at, &key, &value); i++) {
      unit->initial[i] = value;
      unit->field[i] = kd_slot((PyTypeObject *)unit->cls, key);
      if (unit->field[i] < 0) goto failed;
    }
  }
  if ((value = PyDict_GetItemString(found, "instances")) != NULL && PyDict_Check(value)) {
    PyObject *const instances = value;
    unit->instance = ks_new(unit, (size_t)PyDict_GET_SIZE(instances), sizeof(ks_expr *));
    unit->names = ks_new(unit, (size_t)PyDict_GET_SIZE(instances), sizeof(PyObject *));
    if (unit->instance == NULL || unit->names == NULL) goto failed;
    for (i = at = 0; PyDict_Next(instances, &at, &key, &value); i++) {
      unit->names[i] = key;
      if ((unit->instance[i] = ks_expr_of(unit, value)) == NULL) goto failed;
    }
    unit->computed = i;
  }
  if ((value = PyDict_GetItemString(found, "stands")) != NULL && PyDict_Check(value)) {
    PyObject *const stands = value;
    unit->stand = ks_new(unit, (size_t)PyDict_GET_SIZE(stands), sizeof(ks_expr *));
    unit->stand_name = ks_new(unit, (size_t)PyDict_GET_SIZE(stands), sizeof(PyObject *));
    if (unit->stand == NULL || unit->stand_name == NULL) goto failed;
    for (i = at = 0; PyDict_Next(stands, &at, &key, &value); i++) {
      unit->stand_name[i] = key;
      if ((unit->stand[i] = ks_expr_of(unit, value)) == NULL) goto failed;
    }
    unit->stands = i;
  }
  if ((value = PyDict_GetItemString(found, "reads")) != NULL && PyDict_Check(value)) {
    PyObject *const reads = value;
    unit->read = ks_new(unit, (size_t)PyDict_GET_SIZE(reads), sizeof(ks_step));
    unit->sought = ks_new(unit, (size_t)PyDict_GET_SIZE(reads), sizeof(PyObject *));
    if (unit->read == NULL || unit->sought == NULL) goto failed;
    for (i = at = 0; PyDict_Next(reads, &at, &key, &value); i++) {
      unit->sought[i] = key;
      if (ks_step_of(unit, value, 0, &unit->read[i]) < 0) goto failed;
    }
    unit->reads = i;
  }
  if ((value = PyDict_GetItemString(found, "places")) != NULL && PyTuple_Check(value)) {
    if (PyTuple_GET_SIZE(value) != unit->reads) {
      ks_refuse(unit, value);
      goto failed;
    }
    unit->place = ks_new(unit, (size_t)unit->reads, sizeof(ks_place));
    if (unit->place == NULL) goto failed;
    for (i = 0; i < unit->reads; i++)
      if (ks_place_of(unit, PyTuple_GET_ITEM(value, i), &unit->place[i]) < 0) goto failed;
  }
  if ((value = PyDict_GetItemString(found, "steps")) != NULL &&
      ks_steps_of(unit, value, &unit->steps, &unit->step) < 0)
    goto failed;
  unit->entry = found;
  return 0;
failed:
  Py_DECREF(found);
  return -1;
}

static void ks_forget(ks_unit *unit) {
  ks_memory *block = unit->blocks, *next;
  for (; block != NULL; block = next) {
    next = block->next;
    if (block->expr != NULL) Py_XDECREF(block->expr->seen);
    Py_XDECREF(block->owned);
    PyMem_Free(block);
  }
  unit->blocks = NULL;
}

#endif
