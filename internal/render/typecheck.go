// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strconv"
	"text/template"
	"text/template/parse"

	"github.com/jba/templatecheck"
)

// typeCheck checks a template against its value type, untaken branches and
// included fragments too. It checks a rewritten copy of the trees, because two
// things are invisible to templatecheck as they stand:
//
//   - include is a function, so nothing would tie a fragment to the type it is
//     given. In front of every action the copy invokes, by {{ template }}, a
//     copy of each included fragment made for this one call. Every fragment is
//     thus checked once per call with the exact type of its dot.
//   - the value that a pipeline hands to its next function is not compared
//     with that function's parameter. The copy nests pipelines instead.
//
// Functions whose parameters are wider than what they accept get a guard: an
// expression that only type-checks for the types they do accept.
func (lib *library) typeCheck(entry Entry, fm template.FuncMap) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{ID: entry.ID, File: entry.ID.File(), Message: fmt.Sprintf("type check broke down: %v", p)}
		}
	}()
	c := &checkCopy{lib: lib, funcs: maps.Clone(fm), sites: map[string]callSite{}}
	c.funcs[guardString] = func(string) string { return "" }
	root := c.addTree(string(entry.ID), string(entry.ID))
	if c.err != nil {
		return c.err
	}
	set := template.New(string(entry.ID)).Funcs(c.funcs)
	for name, tree := range c.trees {
		if _, err := set.AddParseTree(name, tree); err != nil {
			return fmt.Errorf("type check of %s: %w", entry.ID, err)
		}
	}
	if err := templatecheck.CheckTextStrict(set.Lookup(root), entry.Values); err != nil {
		return c.explain(entry.ID, err)
	}
	return nil
}

const (
	guardString = "guardString"
	// maxCheckCopies bounds the copies of fragments made for one template.
	maxCheckCopies = 5000
)

// callSite says where a copy of a fragment was included.
type callSite struct {
	caller string // name of the copy that includes it
	file   string
	line   int
}

// checkCopy builds the rewritten trees for one template.
type checkCopy struct {
	lib   *library
	funcs template.FuncMap
	trees map[string]*parse.Tree
	sites map[string]callSite
	err   error
}

// addTree adds a rewritten copy of a body under a new name.
func (c *checkCopy) addTree(name, copyName string) string {
	if c.trees == nil {
		c.trees = map[string]*parse.Tree{}
	}
	if len(c.trees) >= maxCheckCopies {
		c.err = fmt.Errorf("type check of %s: fragments are included more than %d times in all", name, maxCheckCopies)
		return copyName
	}
	tree := c.lib.trees[name].Copy()
	tree.Name = copyName
	c.trees[copyName] = tree
	b := bodyCopy{checkCopy: c, name: copyName, src: c.lib.origin[name]}
	b.list(tree.Root)
	return copyName
}

// bodyCopy rewrites one body.
type bodyCopy struct {
	*checkCopy
	name string
	src  *source
}

func (b *bodyCopy) list(list *parse.ListNode) {
	if list == nil || b.err != nil {
		return
	}
	var nodes []parse.Node
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			nodes = append(nodes, b.pipe(node.Pipe)...)
		case *parse.IfNode:
			nodes = append(nodes, b.branch(&node.BranchNode)...)
		case *parse.WithNode:
			nodes = append(nodes, b.branch(&node.BranchNode)...)
		case *parse.RangeNode:
			nodes = append(nodes, b.branch(&node.BranchNode)...)
		}
		nodes = append(nodes, node)
	}
	list.Nodes = nodes
}

func (b *bodyCopy) branch(node *parse.BranchNode) []parse.Node {
	before := b.pipe(node.Pipe)
	b.list(node.List)
	b.list(node.ElseList)
	return before
}

// pipe nests a pipeline and returns what must be checked in front of it.
func (b *bodyCopy) pipe(pipe *parse.PipeNode) []parse.Node {
	cmd := nest(pipe)
	pipe.Cmds = []*parse.CommandNode{cmd}
	var before []parse.Node
	eachCommand(cmd, func(c *parse.CommandNode) {
		before = append(before, b.guards(c)...)
	})
	return before
}

// guards returns the nodes that check what the signature of a function leaves
// open.
func (b *bodyCopy) guards(cmd *parse.CommandNode) []parse.Node {
	switch functionOf(cmd) {
	case "include":
		return []parse.Node{b.include(cmd)}
	case "int", "int64":
		return guardEach(cmd.Args[1:], guardInteger)
	case "toString":
		return guardEach(cmd.Args[1:], guardOrdered)
	case "printf":
		return printfGuards(cmd)
	}
	return nil
}

// include returns the invocation of a copy of the fragment with the type of
// the include's value.
func (b *bodyCopy) include(cmd *parse.CommandNode) parse.Node {
	name, _ := stringArgument(cmd, 1)
	copyName := name + "#" + strconv.Itoa(len(b.trees))
	b.sites[copyName] = callSite{caller: b.name, file: b.src.file, line: lineAt(b.src.text, int(cmd.Pos))}
	b.addTree(name, copyName)
	dot := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: cmd.Pos, Args: []parse.Node{cmd.Args[2]}}
	if literal := b.dictStruct(innerCommand(cmd.Args[2])); literal != nil {
		dot = literal
	}
	return &parse.TemplateNode{NodeType: parse.NodeTemplate, Pos: cmd.Pos, Name: copyName, Pipe: pipeOf(dot)}
}

// dictStruct replaces "dict "Key" value ..." by a call that yields a struct
// with these fields, so that a misspelt key is found. Keys that could not be
// fields stay unchecked.
func (b *bodyCopy) dictStruct(cmd *parse.CommandNode) *parse.CommandNode {
	if functionOf(cmd) != "dict" || len(cmd.Args)%2 == 0 {
		return nil
	}
	var fields []reflect.StructField
	parameters := make([]reflect.Type, 0, len(cmd.Args)-1)
	for i := 1; i < len(cmd.Args); i += 2 {
		key, ok := stringArgument(cmd, i)
		if !ok || !exportedName.MatchString(key) {
			return nil
		}
		fields = append(fields, reflect.StructField{Name: key, Type: stringMapType.Elem()})
		parameters = append(parameters, stringMapType.Key(), stringMapType.Elem())
	}
	name := "dict" + strconv.Itoa(len(b.funcs))
	signature := reflect.FuncOf(parameters, []reflect.Type{reflect.StructOf(fields)}, false)
	b.funcs[name] = reflect.MakeFunc(signature, nil).Interface()
	call := *cmd
	call.Args = append([]parse.Node{parse.NewIdentifier(name).SetPos(cmd.Pos)}, cmd.Args[1:]...)
	return &call
}

var exportedName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// explain turns an error of templatecheck into one that names the file, the
// line and the way there.
func (c *checkCopy) explain(id ID, err error) error {
	m := checkErrorPattern.FindStringSubmatch(err.Error())
	if m == nil {
		return &Error{ID: id, File: id.File(), Message: "type check", Err: err}
	}
	line, _ := strconv.Atoi(m[2]) // the pattern admits only digits
	result := &Error{ID: id, File: id.File(), Line: line, Message: typeMessage(m[4], m[5])}
	site, included := c.sites[m[3]]
	if !included {
		return result
	}
	name := fragmentCopy.ReplaceAllString(m[3], "")
	result.File = c.lib.origin[name].file
	result.Message += fmt.Sprintf(" (fragment %q included at %s line %d)", name, site.file, site.line)
	for site, included = c.sites[site.caller]; included; site, included = c.sites[site.caller] {
		result.Message += fmt.Sprintf(", from %s line %d", site.file, site.line)
	}
	return result
}

var (
	checkErrorPattern = regexp.MustCompile(`^template: (.+):(\d+):\d+: checking "(.+)" at <(?s:(.*))>: (?s:(.*))$`)
	fragmentCopy      = regexp.MustCompile(`#\d+$`)
)
