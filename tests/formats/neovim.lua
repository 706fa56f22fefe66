-- What Neovim's own client of language servers makes of a schema: its results as JSON, for test_editors.py.
local wanted = vim.json.decode(table.concat(vim.fn.readfile(vim.env.KODEC_WANTED), "\n"))
local found = {}

local function wait(what, ready)
  if not vim.wait(20000, ready, 20) then
    error("no " .. what)
  end
end

local function go(text)
  vim.cmd("normal! gg0")
  if vim.fn.search("\\V" .. text, "c") == 0 then
    error("no " .. text)
  end
end

local function run()
  local buffer = vim.api.nvim_get_current_buf()
  wait("client", function()
    local client = vim.lsp.get_clients({ bufnr = buffer })[1]
    return client and client.initialized
  end)

  -- a mistake, and its diagnostics; then it is taken back
  go(wanted.mistake[1])
  vim.cmd("substitute/\\V" .. wanted.mistake[1] .. "/" .. wanted.mistake[2] .. "/")
  wait("diagnostics", function() return #vim.diagnostic.get(buffer) > 0 end)
  local first = vim.diagnostic.get(buffer)[1]
  found.diagnostic = { line = vim.fn.getline(first.lnum + 1), message = first.message }
  vim.cmd("undo")
  wait("end of the diagnostics", function() return #vim.diagnostic.get(buffer) == 0 end)

  -- hover opens a window
  go(wanted.hover)
  vim.lsp.buf.hover()
  local window
  wait("window", function()
    for _, each in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(each).relative ~= "" then window = each end
    end
    return window ~= nil
  end)
  found.hover = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), "\n")
  vim.api.nvim_win_close(window, true)

  -- completion as omnifunc gives it: on a new line, and in braces
  found.completion = {}
  for _, text in ipairs(wanted.completion) do
    go(text.after)
    vim.fn.append(vim.fn.line("."), text.line)
    vim.fn.cursor(vim.fn.line(".") + 1, #text.line + 1)
    vim.cmd("startinsert!")
    local position = vim.lsp.util.make_position_params(0, "utf-16")
    position.position.character = #text.line
    local answers = vim.lsp.buf_request_sync(buffer, "textDocument/completion", position, 60000)
    local labels = {}
    for _, answer in pairs(answers or {}) do
      for _, item in ipairs(answer.result or {}) do table.insert(labels, item.label) end
    end
    table.insert(found.completion, labels)
    vim.cmd("stopinsert")
    vim.cmd("undo")
  end

  -- a new name
  go("\\<" .. wanted.rename[1] .. "\\>:\\?\\$")
  vim.lsp.buf.rename(wanted.rename[2])
  wait("new name", function()
    return vim.fn.search("\\<" .. wanted.rename[2] .. "\\>", "nw") > 0
  end)
  found.renamed = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  vim.cmd("undo")

  -- a definition: the cursor goes there
  go((wanted.definition:gsub("|", "\\zs")))
  local line = vim.fn.line(".")
  vim.lsp.buf.definition()
  wait("definition", function() return vim.fn.line(".") ~= line or vim.api.nvim_get_current_buf() ~= buffer end)
  found.definition = { file = vim.fn.expand("%:t"), line = vim.fn.getline(".") }
end

local good, problem = pcall(run)
if not good then found.error = tostring(problem) end
vim.fn.writefile({ vim.json.encode(found) }, vim.env.KODEC_FOUND)
vim.cmd("qall!")
