;; What eglot, Emacs' client of language servers, makes of a schema: its results as JSON, for test_editors.py.
(require 'json)
(require 'eglot)
(require 'yaml-mode)

(defvar kodec-wanted (let ((json-object-type 'alist) (json-array-type 'list)) (json-read-file (getenv "KODEC_WANTED"))))
(defvar kodec-found nil)

(defun kodec-put (key value) (push (cons key value) kodec-found))

(defun kodec-wait (what ready)
  "The value of `ready' once it has one."
  (let ((until (+ (float-time) 20)) value)
    (while (not (setq value (funcall ready)))
      (when (> (float-time) until) (error "No %s" what))
      (accept-process-output nil 0.02))
    value))

(defun kodec-idle ()
  "What happens when Emacs is idle, which it never is in batch mode: the server gets the text."
  (eglot--signal-textDocument/didChange))

(defun kodec-diagnostics ()
  (kodec-idle)
  (flymake-start)
  (flymake-diagnostics))

(defun kodec-go (text)
  "Move to a text; to what `|' stands before in it."
  (goto-char (point-min))
  (let ((parts (split-string text "|")))
    (search-forward (apply #'concat parts))
    (goto-char (match-beginning 0))
    (when (cdr parts) (forward-char (length (car parts))))))

(defun kodec-here () (buffer-substring-no-properties (line-beginning-position) (line-end-position)))

(defun kodec-run ()
  (kodec-wait "server" #'eglot-current-server)

  ;; a mistake, and its diagnostics; then it is taken back
  (let ((right (car (alist-get 'mistake kodec-wanted))) (wrong (cadr (alist-get 'mistake kodec-wanted))))
    (kodec-go right)
    (delete-char (length right))
    (insert wrong)
    (let ((first (car (kodec-wait "diagnostics" #'kodec-diagnostics))))
      (goto-char (flymake-diagnostic-beg first))
      (kodec-put 'diagnostic `((line . ,(kodec-here)) (message . ,(flymake-diagnostic-text first)))))
    (kodec-go wrong)
    (delete-char (length wrong))
    (insert right)
    (kodec-wait "end of the diagnostics" (lambda () (null (kodec-diagnostics)))))

  ;; what eldoc shows
  (kodec-go (alist-get 'hover kodec-wanted))
  (let (shown)
    (eglot-hover-eldoc-function (lambda (text &rest _) (setq shown text)))
    (kodec-put 'hover (substring-no-properties (kodec-wait "description" (lambda () shown)))))

  ;; completion at point: on a new line, and in braces
  (kodec-put 'completion
       (vconcat
        (mapcar
         (lambda (each)
           (kodec-go (alist-get 'after each))
           (end-of-line)
           (insert "\n" (alist-get 'line each))
           (let* ((table (run-hook-with-args-until-success 'completion-at-point-functions))
                  (prefix (buffer-substring-no-properties (nth 0 table) (point)))
                  (labels (all-completions prefix (nth 2 table))))
             (delete-region (line-beginning-position) (line-end-position))
             (delete-char -1)
             (vconcat (mapcar #'substring-no-properties labels))))
         (alist-get 'completion kodec-wanted))))

  ;; a new name
  (goto-char (point-min))
  (re-search-forward (format "\\_<%s\\_>:?$" (car (alist-get 'rename kodec-wanted))))
  (goto-char (match-beginning 0))
  (let ((before (buffer-string)))
    (kodec-idle)
    (eglot-rename (cadr (alist-get 'rename kodec-wanted)))
    (kodec-put 'renamed (vconcat (split-string (string-trim-right (buffer-string) "\n") "\n")))
    (erase-buffer)
    (insert before)
    (kodec-idle))

  ;; where a name is used, and its definition: point goes there
  (kodec-go (alist-get 'definition kodec-wanted))
  (let ((backend (xref-find-backend)))
    (kodec-put 'references
               (vconcat (mapcar #'xref-item-summary
                                (xref-backend-references backend (xref-backend-identifier-at-point backend))))))
  (xref-find-definitions (xref-backend-identifier-at-point (xref-find-backend)))
  (kodec-put 'definition `((file . ,(file-name-nondirectory buffer-file-name)) (line . ,(kodec-here))))

  (eglot-shutdown (eglot-current-server)))

(condition-case problem
    (progn
      (find-file (car command-line-args-left))
      (setq command-line-args-left nil)
      (kodec-put 'mode (symbol-name major-mode))
      (call-interactively #'eglot)
      (kodec-run))
  (error (kodec-put 'error (error-message-string problem))))
(with-temp-file (getenv "KODEC_FOUND") (insert (json-encode kodec-found)))
