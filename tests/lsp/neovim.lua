-- What a person does in neovim with `krm lsp`, without the person. Arguments come by the environment; what was seen goes to
-- a file, a line for each thing. Written for neovim 0.7 and whatever came after it.
local out = assert(io.open(vim.env.OUT, 'w'))
local function say(...) out:write(table.concat({ ... }, ' '), '\n') end

local function buffer(file)
  vim.cmd('edit ' .. vim.env.ROOT .. '/' .. file)
  return vim.api.nvim_get_current_buf()
end

local client = assert(vim.lsp.start_client({ cmd = { vim.env.KRM, 'lsp' }, name = 'krm', root_dir = vim.env.ROOT }))
local function attach(bufnr) assert(vim.lsp.buf_attach_client(bufnr, client)) end

local function at(bufnr, line, character)
  return { textDocument = vim.lsp.util.make_text_document_params(bufnr), position = { line = line, character = character } }
end

local function ask(bufnr, method, params)
  local answers, err = vim.lsp.buf_request_sync(bufnr, method, params, 20000)
  assert(answers, tostring(err))
  local answer = answers[client]
  assert(answer and not answer.error, method .. ': ' .. vim.inspect(answer))
  return answer.result
end

local function relative(uri) return (vim.uri_to_fname(uri):gsub('^.*/neovim/', '')) end

local function run()
  -- Diagnostics: a name is typed wrong, and right again.
  local staging = buffer('overlays/staging/kustomization.yaml')
  attach(staging)
  vim.api.nvim_buf_set_text(staging, 4, 8, 4, 11, { 'wbe' })
  assert(vim.wait(20000, function() return #vim.diagnostic.get(staging) == 1 end, 20), 'no diagnostics')
  local found = vim.diagnostic.get(staging)[1]
  say('diagnostic', found.code or found.user_data.lsp.code, found.lnum .. ':' .. found.col)
  vim.api.nvim_buf_set_text(staging, 4, 8, 4, 11, { 'web' })
  assert(vim.wait(20000, function() return #vim.diagnostic.get(staging) == 0 end, 20), 'diagnostics stay')

  -- Hover: where a value comes from.
  local web = buffer('base/web.yaml')
  attach(web)
  local hover = ask(web, 'textDocument/hover', at(web, 5, 13))
  for line in hover.contents.value:gmatch('[^\n]+') do say('hover', line) end

  -- Definition: from the reference to the generator.
  local definition = ask(web, 'textDocument/definition', at(web, 13, 20))[1]
  say('definition', relative(definition.uri), definition.range.start.line .. ':' .. definition.range.start.character)

  -- Rename: the generator and what refers to it.
  local params = at(web, 13, 20)
  params.newName = 'options'
  vim.lsp.util.apply_workspace_edit(ask(web, 'textDocument/rename', params), 'utf-16')
  say('renamed', vim.trim(vim.api.nvim_buf_get_lines(web, 13, 14, false)[1]))
  local base = buffer('base/kustomization.yaml')
  attach(base)
  say('renamed', vim.trim(vim.api.nvim_buf_get_lines(base, 3, 4, false)[1]))

  -- Code action: what the diagnostic says, done.
  vim.api.nvim_buf_set_lines(base, -1, -1, false, { 'namePrefx: x-' })
  assert(vim.wait(20000, function() return #vim.diagnostic.get(base) > 0 end, 20), 'no diagnostics')
  local last = vim.api.nvim_buf_line_count(base) - 1
  local range = { start = { line = last, character = 0 }, ['end'] = { line = last, character = 5 } }
  local actions = ask(base, 'textDocument/codeAction', {
    textDocument = vim.lsp.util.make_text_document_params(base),
    range = range,
    context = { diagnostics = {} },
  })
  for _, action in ipairs(actions) do say('action', action.title) end
  if actions[1] then
    vim.lsp.util.apply_workspace_edit(actions[1].edit, 'utf-16')
    for _, line in ipairs(vim.api.nvim_buf_get_lines(base, 0, -1, false)) do say('acted', line) end
  end
end

local ok, err = pcall(run)
if not ok then say('error', (tostring(err):gsub('\n', ' '))) end
out:close()
vim.lsp.stop_client(client)
vim.cmd('qall!')
