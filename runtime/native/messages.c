/* Messages read and written natively, for `kodec.runtime.messages`: the methods of generated classes.
 *
 * A `Message` is a class with the rows that describe its encoding (kodec_message.h); `Function` and `Method` replace
 * its `from_bytes`, `read_from` and `to_bytes`. Each holds the Python function that it replaces, and calls it with the
 * same arguments if the native code does not support them: so there is one set of errors. */
#define PY_SSIZE_T_CLEAN
#include "kodec_message_write.h"

typedef enum { KM_FROM_BYTES, KM_READ_FROM, KM_TO_BYTES } km_task;

/* The replacement of a method. It never changes. */
typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  km_message *message;
  PyObject *plain; /* the function that it replaces */
  PyObject *name;
  km_task task;
} km_function;

static PyTypeObject *km_function_type, *km_method_type;
static struct {
  PyObject *version, *exact, *opt, *elements, *default_read, *default_write, *read_options;
} km_names;

/* ------------------------------------------------------------------ arguments */

typedef struct {
  PyObject *opt; /* NULL: the default */
  long version;
  int versioned, exact;
} km_options;

/* The version; -1 if Python must handle it. */
static int km_version(PyObject *value, km_options *options) {
  int overflow;
  if (!PyLong_CheckExact(value) || options->versioned) return -1;
  options->version = PyLong_AsLongAndOverflow(value, &overflow);
  options->versioned = 1;
  return overflow ? -1 : 0;
}

/* The keyword arguments; -1 if Python must handle them. */
static int km_by_name(const km_function *self, PyObject *const *values, PyObject *names, km_options *options) {
  for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
    PyObject *const name = PyTuple_GET_ITEM(names, i), *const value = values[i];
    if (name == km_names.version) {
      if (km_version(value, options) < 0) return -1;
    } else if (name == km_names.opt && options->opt == NULL) {
      options->opt = value;
    } else if (name == km_names.exact && self->task == KM_FROM_BYTES && (PyBool_Check(value) || value == Py_None)) {
      options->exact = value != Py_False;
    } else {
      return -1;
    }
  }
  return 0;
}

/* The most elements of a list; -1 if Python must read the options. */
static int64_t km_most_elements(PyObject *options) {
  PyObject *number;
  int64_t found;
  int overflow;
  if (options == NULL || options == km_names.default_read) return km_elements;
  if ((PyObject *)Py_TYPE(options) != km_names.read_options) return -1;
  number = PyObject_GetAttr(options, km_names.elements);
  if (number == NULL) return -1;
  found = PyLong_CheckExact(number) ? PyLong_AsLongLongAndOverflow(number, &overflow) : -1;
  Py_DECREF(number);
  return found;
}

/* ------------------------------------------------------------------ the tasks; NULL without an error: in Python */

static PyObject *km_read(km_function *self, km_reader *r, const km_options *options) {
  km_message *const message = self->message;
  long version = options->version;
  const km_layout *layout;
  PyObject *found;
  r->elements = km_most_elements(options->opt);
  if (r->elements < 0 || km_begin(message) < 0) return NULL;
  if (options->versioned != (message->versions != 0 && !message->inside)) return NULL;
  if (message->inside) {
    if (km_left(r) < message->at + km_kinds[message->kind].width) return NULL;
    version = (long)km_number(r->p + message->at, message->kind);
  }
  layout = km_layout_of(message, version);
  if (layout == NULL) return NULL;
  km_reader_start(r);
  found = km_read_object(r, layout);
  km_reader_end(r, found != NULL);
  return found;
}

static PyObject *km_from_bytes(km_function *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  km_options options = {NULL, KM_ANY, 0, 1};
  km_reader r;
  PyObject *data, *found;
  if (count < 1 || count > 2) return NULL;
  if (count > 1 && km_version(args[1], &options) < 0) return NULL;
  if (km_by_name(self, args + count, names, &options)) return NULL;
  data = args[0];
  if (PyBytes_CheckExact(data)) {
    Py_INCREF(data);
  } else if (PyByteArray_CheckExact(data) || PyMemoryView_Check(data)) {
    data = PyBytes_FromObject(data);
    if (data == NULL) return NULL;
  } else {
    return NULL;
  }
  r.p = (const uint8_t *)PyBytes_AS_STRING(data);
  r.end = r.p + PyBytes_GET_SIZE(data);
  found = km_read(self, &r, &options);
  if (found != NULL && options.exact && r.p != r.end) Py_CLEAR(found);
  Py_DECREF(data);
  return found;
}

static PyObject *km_read_from(km_function *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  km_options options = {NULL, KM_ANY, 0, 1};
  km_reader r;
  PyObject *found, *both, *end;
  const uint8_t *start;
  Py_ssize_t from = 0, to;
  if (count < 1 || count > 4 || !PyBytes_CheckExact(args[0])) return NULL;
  options.opt = count > 3 ? args[3] : NULL;
  if (km_by_name(self, args + count, names, &options)) return NULL;
  to = PyBytes_GET_SIZE(args[0]);
  if (count > 1) {
    if (!PyLong_CheckExact(args[1])) return NULL;
    from = PyLong_AsSsize_t(args[1]);
  }
  if (count > 2 && args[2] != Py_None) {
    const Py_ssize_t most = to;
    if (!PyLong_CheckExact(args[2])) return NULL;
    to = PyLong_AsSsize_t(args[2]);
    if (to > most) return NULL;
  }
  if (from < 0 || to < from) return NULL;
  start = (const uint8_t *)PyBytes_AS_STRING(args[0]);
  r.p = start + from;
  r.end = start + to;
  found = km_read(self, &r, &options);
  if (found == NULL) return NULL;
  both = PyTuple_New(2);
  end = PyLong_FromSsize_t(r.p - start);
  if (both == NULL || end == NULL) {
    Py_DECREF(found);
    Py_XDECREF(both);
    Py_XDECREF(end);
    return NULL;
  }
  PyTuple_SET_ITEM(both, 0, found);
  PyTuple_SET_ITEM(both, 1, end);
  return both;
}

static PyObject *km_to_bytes(km_function *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  km_message *const message = self->message;
  km_options options = {NULL, KM_ANY, 0, 1};
  const km_layout *layout;
  PyObject *found = NULL;
  km_writer w;
  if (count < 1 || count > 2 || (PyObject *)Py_TYPE(args[0]) != message->cls || km_begin(message) < 0) return NULL;
  if (km_by_name(self, args + count, names, &options)) return NULL;
  if (options.versioned != (message->versions != 0 && !message->inside)) return NULL;
  if (message->inside) {
    PyObject *const version = *kd_in(args[0], message->slot);
    int overflow;
    if (version == NULL || !PyLong_CheckExact(version)) return NULL;
    options.version = PyLong_AsLongAndOverflow(version, &overflow);
    if (overflow) return NULL;
  }
  layout = km_layout_of(message, options.version);
  if (layout == NULL) return NULL;
  w.data = w.small;
  w.used = 0;
  w.room = KM_ROOM;
  w.depth = 0;
  if (km_write_object(&w, layout, args[0]) == 0)
    found = PyBytes_FromStringAndSize((const char *)w.data, (Py_ssize_t)w.used);
  if (w.data != w.small) PyMem_Free(w.data);
  return found;
}

static PyObject *km_call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names) {
  km_function *const self = (km_function *)object;
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  PyObject *found;
  switch (self->task) {
    case KM_FROM_BYTES: found = km_from_bytes(self, args, count, names); break;
    case KM_READ_FROM: found = km_read_from(self, args, count, names); break;
    default: found = km_to_bytes(self, args, count, names);
  }
  if (KD_LIKELY(found != NULL)) return found;
  if (PyErr_Occurred()) {
    /* an error of a value is raised again in Python, with its field */
    if (!PyErr_ExceptionMatches(PyExc_OverflowError) && !PyErr_ExceptionMatches(PyExc_UnicodeError)) return NULL;
    PyErr_Clear();
  }
  return PyObject_Vectorcall(self->plain, args, (size_t)count, names);
}

/* ------------------------------------------------------------------ functions and methods */

static PyObject *km_function_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static const char *const tasks[] = {"from_bytes", "read_from", "to_bytes"};
  static char *names[] = {"message", "name", "plain", NULL};
  PyObject *message, *name, *plain;
  km_function *self;
  int task = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!UO", names, km_message_type, &message, &name, &plain))
    return NULL;
  while (task < 3 && PyUnicode_CompareWithASCIIString(name, tasks[task])) task++;
  if (task == 3 || (task == KM_TO_BYTES) != (type == km_method_type) || !PyCallable_Check(plain))
    return PyErr_Format(PyExc_ValueError, "%S is no method of %S", name, type);
  self = (km_function *)type->tp_alloc(type, 0);
  if (self == NULL) return NULL;
  Py_INCREF(message);
  Py_INCREF(name);
  Py_INCREF(plain);
  self->vectorcall = km_call;
  self->message = (km_message *)message;
  self->name = name;
  self->plain = plain;
  self->task = (km_task)task;
  return (PyObject *)self;
}

static int km_function_traverse(PyObject *object, visitproc visit, void *arg) {
  km_function *const self = (km_function *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->message);
  Py_VISIT(self->plain);
  return 0;
}

static void km_function_dealloc(PyObject *object) {
  km_function *const self = (km_function *)object;
  PyTypeObject *const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Py_XDECREF(self->message);
  Py_XDECREF(self->plain);
  Py_XDECREF(self->name);
  type->tp_free(object);
  Py_DECREF(type);
}

/* All attributes are those of the function that it replaces: its name, its signature, its docstring. */
static PyObject *km_function_getattro(PyObject *object, PyObject *name) {
  km_function *const self = (km_function *)object;
  PyObject *found;
  const char *const text = PyUnicode_AsUTF8(name);
  if (text == NULL) return NULL;
  if (strcmp(text, "__wrapped__") == 0) {
    Py_INCREF(self->plain);
    return self->plain;
  }
  if (strcmp(text, "__class__") != 0 && strcmp(text, "__reduce__") != 0 && strcmp(text, "__reduce_ex__") != 0 &&
      strcmp(text, "__call__") != 0 && strcmp(text, "__get__") != 0) {
    found = PyObject_GetAttr(self->plain, name);
    if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Clear();
  }
  return PyObject_GenericGetAttr(object, name);
}

static PyObject *km_function_repr(PyObject *object) { return PyObject_Repr(((km_function *)object)->plain); }

static PyObject *km_function_reduce(PyObject *object, PyObject *Py_UNUSED(ignored)) {
  km_function *const self = (km_function *)object;
  PyObject *const builtins = PyEval_GetBuiltins();
  PyObject *const get = builtins == NULL ? NULL : PyDict_GetItemString(builtins, "getattr");
  if (get == NULL) return PyErr_Format(PyExc_RuntimeError, "no getattr");
  return Py_BuildValue("O(OO)", get, self->message->cls, self->name);
}

static PyObject *km_method_get(PyObject *object, PyObject *instance, PyObject *Py_UNUSED(type)) {
  if (instance == NULL || instance == Py_None) {
    Py_INCREF(object);
    return object;
  }
  return PyMethod_New(object, instance);
}

/* A class method as it is; with this `help` takes it for a method. */
static PyObject *km_function_get(PyObject *object, PyObject *Py_UNUSED(instance), PyObject *Py_UNUSED(type)) {
  Py_INCREF(object);
  return object;
}

/* `pydoc` reads it past `km_function_getattro`. */
static PyObject *km_function_doc(PyObject *object, void *Py_UNUSED(closure)) {
  return PyObject_GetAttrString(((km_function *)object)->plain, "__doc__");
}

static PyGetSetDef km_function_getset[] = {
    {"__doc__", km_function_doc, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef km_function_methods[] = {
    {"__reduce__", km_function_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef km_function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(km_function, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot km_function_slots[] = {
    {Py_tp_new, km_function_new},
    {Py_tp_dealloc, km_function_dealloc},
    {Py_tp_traverse, km_function_traverse},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getattro, km_function_getattro},
    {Py_tp_repr, km_function_repr},
    {Py_tp_methods, km_function_methods},
    {Py_tp_members, km_function_members},
    {Py_tp_getset, km_function_getset},
    {Py_tp_descr_get, km_function_get},
    {0, NULL},
};

static PyType_Slot km_method_slots[] = {
    {Py_tp_new, km_function_new},
    {Py_tp_dealloc, km_function_dealloc},
    {Py_tp_traverse, km_function_traverse},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getattro, km_function_getattro},
    {Py_tp_repr, km_function_repr},
    {Py_tp_methods, km_function_methods},
    {Py_tp_members, km_function_members},
    {Py_tp_getset, km_function_getset},
    {Py_tp_descr_get, km_method_get},
    {0, NULL},
};

enum { KM_FLAGS = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL };
#define KM_MODULE "kodec.runtime.native.messages."
static PyType_Spec km_function_spec = {KM_MODULE "Function", sizeof(km_function), 0, KM_FLAGS, km_function_slots};
static PyType_Spec km_method_spec = {
    KM_MODULE "Method", sizeof(km_function), 0, KM_FLAGS | Py_TPFLAGS_METHOD_DESCRIPTOR, km_method_slots};

/* ------------------------------------------------------------------ messages */

static PyObject *km_message_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"cls", "rows", "peers", "defaults", NULL};
  PyObject *cls, *rows, *peers, *defaults;
  km_message *self;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!O", names, &PyType_Type, &cls, &PyTuple_Type, &rows,
                                   &PyDict_Type, &peers, &defaults))
    return NULL;
  self = (km_message *)type->tp_alloc(type, 0);
  if (self == NULL) return NULL;
  Py_INCREF(cls);
  Py_INCREF(rows);
  Py_INCREF(peers);
  Py_INCREF(defaults);
  self->cls = cls;
  self->rows = rows;
  self->peers = peers;
  self->defaults = defaults;
  return (PyObject *)self;
}

static int km_value_traverse(const km_value *value, visitproc visit, void *arg) {
  Py_VISIT((PyObject *)value->message);
  return value->element == NULL ? 0 : km_value_traverse(value->element, visit, arg);
}

static int km_message_traverse(PyObject *object, visitproc visit, void *arg) {
  km_message *const self = (km_message *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->cls);
  Py_VISIT(self->peers);
  Py_VISIT(self->rows);
  Py_VISIT(self->defaults);
  Py_VISIT(self->initials);
  for (long i = 0; self->layouts != NULL && i <= self->versions; i++) {
    const km_layout *const layout = self->layouts[i];
    if (layout == NULL) continue;
    const km_field *const lists[] = {layout->field, layout->tag, layout->gone};
    const Py_ssize_t counts[] = {layout->fields, layout->tags, layout->absent};
    for (int j = 0; j < 3; j++)
      for (Py_ssize_t k = 0; k < counts[j]; k++) {
        const int status = km_value_traverse(&lists[j][k].value, visit, arg);
        if (status) return status;
        Py_VISIT(lists[j][k].initial);
        Py_VISIT((PyObject *)lists[j][k].called);
      }
  }
  return 0;
}

/* A message never changes once it is used, so it has no `tp_clear`: a circle goes through the class and its dict. */
static void km_message_dealloc(PyObject *object) {
  km_message *const self = (km_message *)object;
  PyTypeObject *const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  for (long i = 0; self->layouts != NULL && i <= self->versions; i++)
    if (self->layouts[i] != NULL) {
      km_layout_clear(self->layouts[i]);
      PyMem_Free(self->layouts[i]);
    }
  PyMem_Free(self->layouts);
  Py_XDECREF(self->initials);
  Py_XDECREF(self->defaults);
  Py_XDECREF(self->peers);
  Py_XDECREF(self->rows);
  Py_XDECREF(self->cls);
  type->tp_free(object);
  Py_DECREF(type);
}

static PyType_Slot km_message_slots[] = {
    {Py_tp_new, km_message_new},
    {Py_tp_dealloc, km_message_dealloc},
    {Py_tp_traverse, km_message_traverse},
    {0, NULL},
};

static PyType_Spec km_message_spec = {
    KM_MODULE "Message", sizeof(km_message), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, km_message_slots};

/* ------------------------------------------------------------------ the module */

/* Import what messages need from `uuid`, `kodec.runtime.uuids` and `kodec.runtime.fields`. */
static int km_import(void) {
  PyObject *const uuids = PyImport_ImportModule("uuid");
  PyObject *const ours = PyImport_ImportModule("kodec.runtime.uuids");
  PyObject *const fields = PyImport_ImportModule("kodec.runtime.fields");
  PyObject *cls = NULL, *safe = NULL, *name = NULL, *number = NULL;
  int status = -1;
  if (uuids == NULL || ours == NULL || fields == NULL) goto done;
  cls = PyObject_GetAttrString(uuids, "UUID");
  safe = PyObject_GetAttrString(uuids, "SafeUUID");
  if (cls == NULL || safe == NULL || !PyType_Check(cls)) goto done;
  km_uuids.cls = (PyTypeObject *)cls;
  Py_INCREF(cls);
  km_uuids.unknown = PyObject_GetAttrString(safe, "unknown");
  km_uuids.zero = PyObject_GetAttrString(ours, "NO_UUID");
  if (km_uuids.unknown == NULL || km_uuids.zero == NULL) goto done;
  if ((name = PyUnicode_FromString("int")) == NULL) goto done;
  km_uuids.number = kd_slot(km_uuids.cls, name);
  Py_DECREF(name);
  if ((name = PyUnicode_FromString("is_safe")) == NULL) goto done;
  km_uuids.safe = kd_slot(km_uuids.cls, name);
  km_names.version = PyUnicode_InternFromString("version");
  km_names.exact = PyUnicode_InternFromString("exact");
  km_names.opt = PyUnicode_InternFromString("opt");
  km_names.elements = PyUnicode_InternFromString("elements");
  km_names.default_read = PyObject_GetAttrString(fields, "DEFAULT_READ");
  km_names.read_options = PyObject_GetAttrString(fields, "ReadOptions");
  if (PyErr_Occurred()) goto done;
  number = PyObject_GetAttr(km_names.default_read, km_names.elements);
  if (number == NULL) goto done;
  km_elements = PyLong_AsLongLong(number);
  status = PyErr_Occurred() ? -1 : 0;
done:
  Py_XDECREF(uuids);
  Py_XDECREF(ours);
  Py_XDECREF(fields);
  Py_XDECREF(cls);
  Py_XDECREF(safe);
  Py_XDECREF(name);
  Py_XDECREF(number);
  return status;
}

static PyModuleDef km_module = {
    PyModuleDef_HEAD_INIT, "messages", "Messages read and written natively, by what the generator wrote of them.", -1,
    NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_messages(void) {
  PyObject *module;
  if (km_import() < 0) return NULL;
  module = PyModule_Create(&km_module);
  if (module == NULL) return NULL;
  km_message_type = (PyTypeObject *)PyType_FromSpec(&km_message_spec);
  km_function_type = (PyTypeObject *)PyType_FromSpec(&km_function_spec);
  km_method_type = (PyTypeObject *)PyType_FromSpec(&km_method_spec);
  if (km_message_type == NULL || km_function_type == NULL || km_method_type == NULL ||
      PyModule_AddObjectRef(module, "Message", (PyObject *)km_message_type) < 0 ||
      PyModule_AddObjectRef(module, "Function", (PyObject *)km_function_type) < 0 ||
      PyModule_AddObjectRef(module, "Method", (PyObject *)km_method_type) < 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
