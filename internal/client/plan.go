package client

import "slices"

// FileFacts is what the caller found at a path of the project.
type FileFacts struct {
	File
	Problem string // why the file can't be edited: a folder, not readable, not writable, outside the project
	Real    string // where a link leads, relative to the project; empty when it is no link
	Undo    *Undo  // what earlier runs left; nil when unknown
}

// PlanRequest is all that decides what setup does.
type PlanRequest struct {
	Spec
	Clients []string             // the chosen ones
	Files   map[string]FileFacts // by path, for every path in Paths; a missing one is not there
	Force   bool                 // a person chose to replace or remove entries that are Changed or Foreign
}

// Change says what becomes of a file.
type Change string

// The changes of a file.
const (
	Unchanged Change = "none"
	Create    Change = "create"
	Edit      Change = "edit"
	Delete    Change = "delete"
	Refused   Change = "refused"
)

// FileChange is one file of a plan. Nothing is written by Plan: the caller
// writes New where Change says so, in the order given.
type FileChange struct {
	Path    string   // relative to the project
	Clients []string // for which it is
	Change  Change
	Old     File
	New     File
	Undo    *Undo // to be kept for Remove; nil when setup owes the file nothing
	Items   []ItemState
	Err     *RefusedError // of a Refused file
}

// Plan works out every file for the chosen clients. All files are read and
// edited in memory before any is returned; one that is refused stands in the
// plan as Refused and stops no other.
func Plan(req PlanRequest) []FileChange {
	p := &planner{req: req}
	for _, c := range Clients() {
		if slices.Contains(req.Clients, c.ID) {
			p.client(c.ID)
		}
	}
	var out []FileChange
	for _, w := range p.wants {
		out = append(out, p.change(w, Apply))
	}
	return out
}

// Todo says what a person must still do for a client, one line each.
func (r PlanRequest) Todo(client string) []string {
	var out []string
	for _, c := range Clients() {
		if c.ID == client {
			out = append(out, c.Todo)
		}
	}
	if f := r.Files[codexHides]; client == Codex && (f.Exists || f.Problem != "") {
		out = append(out, codexHides+" hides "+agentsMD+" from Codex: copy the marked block into it if the file is to stay")
	}
	return out
}

// want is a file with what clients need in it.
type want struct {
	Target
	clients []string
}

type planner struct {
	req   PlanRequest
	every bool // look at every place where setup may have written, not only where it would write now
	wants []want
}

func (p *planner) facts(path string) FileFacts { return p.req.Files[path] }

// there reports whether something stands at a path, readable or not.
func (p *planner) there(path string) bool {
	f := p.facts(path)
	return f.Exists || f.Problem != ""
}

// need adds items to a file. Two names of one file are one file.
func (p *planner) need(client, path string, kind Kind, items ...Item) {
	real := p.real(path)
	i := slices.IndexFunc(p.wants, func(w want) bool { return p.real(w.Path) == real })
	if i < 0 {
		p.wants = append(p.wants, want{Target: Target{Path: path, Kind: kind}})
		i = len(p.wants) - 1
	}
	w := &p.wants[i]
	if !slices.Contains(w.clients, client) {
		w.clients = append(w.clients, client)
	}
	for _, it := range items {
		if !slices.ContainsFunc(w.Items, func(have Item) bool { return have.ID == it.ID }) {
			w.Items = append(w.Items, it)
		}
	}
}

func (p *planner) real(path string) string {
	if r := p.facts(path).Real; r != "" {
		return r
	}
	return path
}

// client adds the files of one client: server, hooks, instructions, skill.
func (p *planner) client(id string) {
	s := p.req.Spec
	switch id {
	case Codex:
		p.need(id, codexFile, TOML, s.entry(id, "mcp_servers"))
		p.need(id, codexHooks, JSON, s.hooks(id)...)
		p.need(id, agentsMD, Markdown, s.block())
	case Cursor:
		p.need(id, cursorMCP, JSON, s.entry(id, "mcpServers"))
		p.need(id, cursorHooks, JSON, append([]Item{version()}, s.hooks(id)...)...)
		p.need(id, agentsMD, Markdown, s.block())
	case Claude:
		p.need(id, sharedMCP, JSON, s.entry(id, "mcpServers"))
		p.need(id, claudeFile, JSON, s.hooks(id)...)
		p.choose(id, p.there(claudeMD), claudeMD, agentsMD)
	case Gemini:
		p.gemini()
	case Copilot:
		p.copilot()
	case VSCode:
		p.need(id, vscodeMCP, JSON, s.entry(id, "servers"))
		p.need(id, agentsMD, Markdown, s.block())
	case OpenCode:
		p.opencode()
	}
	skill := Item{ID: "skill", Role: Body, Want: Skill()}
	if id == Claude {
		p.need(id, claudeSkill, Whole, skill)
		return
	}
	p.need(id, agentsSkill, Whole, skill)
}

// choose puts the block into the first file or else into the second.
func (p *planner) choose(id string, first bool, a, b string) {
	if first || p.every {
		p.need(id, a, Markdown, p.req.block())
	}
	if !first || p.every {
		p.need(id, b, Markdown, p.req.block())
	}
}

// gemini reads GEMINI.md unless its settings name other files.
func (p *planner) gemini() {
	s := p.req.Spec
	items := append([]Item{s.entry(Gemini, "mcpServers")}, s.hooks(Gemini)...)
	names := Item{
		ID: "context.fileName", Role: FileName, At: []string{"context"}, Name: "fileName",
		Want: agentsMD, Also: []any{[]any{agentsMD, geminiMD}},
	}
	own := p.there(geminiMD) && !p.geminiReads(names)
	if !own || p.every {
		items = append(items, names)
	}
	p.need(Gemini, geminiFile, JSON, items...)
	p.choose(Gemini, own, geminiMD, agentsMD)
}

// geminiReads reports whether Gemini's settings name AGENTS.md, or other files
// than GEMINI.md, so that the block has to go into AGENTS.md.
func (p *planner) geminiReads(names Item) bool {
	doc, err := p.document(geminiFile)
	if err != nil {
		return false
	}
	all, err := doc.look(&names)
	if err != nil || len(all) == 0 {
		return false
	}
	if all[0].preset == Present {
		return true
	}
	names.Want = geminiMD
	all, err = doc.look(&names)
	return err != nil || len(all) == 0 || all[0].preset != Present
}

func (p *planner) document(path string) (document, error) {
	f := p.facts(path)
	if !f.Exists || f.Problem != "" {
		return nil, errVerify
	}
	if err := checkText(f.Data); err != nil {
		return nil, err
	}
	return parse(JSON, f.Data)
}

// copilot shares .mcp.json with Claude Code, and runs Claude's hooks as well as
// its own, so it gets none where those are.
func (p *planner) copilot() {
	s := p.req.Spec
	own := p.there(githubMCP) && !p.there(sharedMCP) && !slices.Contains(p.req.Clients, Claude)
	server := s.entry(Copilot, "mcpServers")
	if !own || p.every {
		p.need(Copilot, sharedMCP, JSON, server)
	}
	if own || p.every && p.there(githubMCP) {
		p.need(Copilot, githubMCP, JSON, server)
	}
	if p.every || !slices.Contains(p.req.Clients, Claude) && !p.claudeHooks() {
		p.need(Copilot, copilotHooks, JSON, append([]Item{version()}, s.hooks(Copilot)...)...)
	}
	p.need(Copilot, agentsMD, Markdown, s.block())
}

// claudeHooks reports whether Claude's settings start our hook.
func (p *planner) claudeHooks() bool {
	doc, err := p.document(claudeFile)
	if err != nil {
		return false
	}
	for _, it := range p.req.hooks(Claude)[:1] {
		if all, err := doc.look(&it); err == nil && len(all) > 0 {
			return true
		}
	}
	return false
}

func (p *planner) opencode() {
	files := slices.DeleteFunc(opencodeFiles(), func(f string) bool { return !p.there(f) })
	switch {
	case len(files) == 0:
		files = opencodeFiles()[:1]
	case !p.every:
		files = files[:1]
	}
	schema := Item{ID: "$schema", Role: Frame, Name: "$schema", Want: "https://opencode.ai/config.json", New: true}
	for _, f := range files {
		// opencode itself adds "$schema" to a file that has none.
		p.need(OpenCode, f, JSON, schema, p.req.entry(OpenCode, "mcp"))
	}
	p.need(OpenCode, agentsMD, Markdown, p.req.block())
}

// change edits one file of the plan.
func (p *planner) change(w want, edit func(Target, File, Options) (Result, error)) FileChange {
	f := p.facts(w.Path)
	out := FileChange{Path: w.Path, Clients: w.clients, Change: Unchanged, Old: f.File, New: f.File, Undo: f.Undo}
	if f.Problem != "" {
		out.Change = Refused
		out.Err = &RefusedError{Path: w.Path, Why: f.Problem, Snippet: snippet(w.Target)}
		return out
	}
	res, err := edit(w.Target, f.File, Options{Undo: f.Undo, Force: p.req.Force})
	if err != nil {
		out.Change = Refused
		out.Err = err.(*RefusedError)
		return out
	}
	out.New, out.Items = res.File, res.Items
	out.Undo = res.Undo.with(w.clients)
	switch {
	case !res.Changed:
	case !f.Exists:
		out.Change = Create
	case !res.File.Exists:
		out.Change = Delete
	default:
		out.Change = Edit
	}
	return out
}
