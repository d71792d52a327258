package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// manualPages returns a manual page for each command of the program and for each topic of its
// help. They are made from the help, as help2man does it: cobra's own generator takes the texts
// for Markdown, and breaks their tables and what has a * or a < in it. ask runs the program.
func manualPages(ask func(args ...string) (string, error), version string, when time.Time) (pages []file, err error) {
	add := func(section, about string, words ...string) error {
		help, err := ask(append([]string{"help"}, words...)...)
		if err == nil {
			m := manual{name: strings.Join(append([]string{"mcprec"}, words...), "-"), section: section, about: about, version: version, when: when}
			pages = append(pages, file{"man/man" + section + "/" + m.name + "." + section, text, []byte(m.page(help))})
		}
		return err
	}
	commands, err := allCommands(ask)
	if err != nil {
		return nil, err
	}
	isCommand := map[string]bool{}
	for _, words := range commands {
		isCommand[strings.Join(words, " ")] = true
		if err := add("1", "", words...); err != nil {
			return nil, err
		}
	}
	helps, err := completions(ask, "help")
	if err != nil {
		return nil, err
	}
	for _, topic := range helps {
		if isCommand[topic.word] {
			continue
		}
		if err := add("7", topic.about, topic.word); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// allCommands returns the words of each command line that has a help of its own: none for the
// program itself, then each command, followed by its own.
func allCommands(ask func(args ...string) (string, error)) (commands [][]string, err error) {
	var walk func(words []string) error
	walk = func(words []string) error {
		commands = append(commands, words)
		help, err := ask(append([]string{"help"}, words...)...)
		if err != nil || len(words) > 0 && !strings.Contains(help, "\nCommands:\n") {
			return err
		}
		next, err := completions(ask, words...)
		for _, command := range next {
			if command.word == "help" {
				continue
			}
			if err := walk(append(words[:len(words):len(words)], command.word)); err != nil {
				return err
			}
		}
		return err
	}
	return commands, walk(nil)
}

// completion is a word with which a command line may go on.
type completion struct{ word, about string }

// completions returns the words with which a command line may go on, by the question that the
// shells' completions ask.
func completions(ask func(args ...string) (string, error), words ...string) (next []completion, err error) {
	answer, err := ask(append(append([]string{"__complete"}, words...), "")...)
	for line := range strings.Lines(answer) {
		word, about, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if word != "" && !strings.HasPrefix(word, ":") {
			next = append(next, completion{word, about})
		}
	}
	return next, err
}

// manual is a manual page in the macros of man(7).
type manual struct {
	name, section string
	about         string // of a topic; a command says it in the first line of its help
	version       string
	when          time.Time
}

// page returns the page that says what a help says.
func (m manual) page(help string) string {
	summary, rest, _ := strings.Cut(help, "\n")
	var synopsis, description, options, examples strings.Builder
	for _, block := range strings.Split(strings.TrimSpace(rest), "\n\n") {
		title, body, _ := strings.Cut(block, "\n")
		switch {
		case title == "Usage:":
			verbatim(&synopsis, body)
		case title == "Examples:":
			verbatim(&examples, body)
		case strings.HasPrefix(title, "Flags") && strings.HasSuffix(title, ":"):
			flagList(&options, body)
		default:
			paragraphs(&description, block)
		}
	}
	if m.about != "" { // a topic has no sections, and its first line is no summary
		summary = m.about
		description.Reset()
		for _, block := range strings.Split(strings.TrimSpace(help), "\n\n") {
			paragraphs(&description, block)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s %s %s \"mcprec %s\" \"Manual of mcprec\"\n", strings.ToUpper(m.name), m.section, m.when.UTC().Format(time.DateOnly), m.version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(m.name), roff(lowerFirst(strings.TrimSuffix(summary, "."))))
	for _, section := range []struct {
		title string
		body  *strings.Builder
	}{
		{"SYNOPSIS", &synopsis}, {"DESCRIPTION", &description}, {"OPTIONS", &options}, {"EXAMPLES", &examples},
	} {
		if section.body.Len() > 0 {
			body := strings.TrimPrefix(section.body.String(), ".PP\n") // a section begins a paragraph by itself
			fmt.Fprintf(&b, ".SH %s\n%s", section.title, body)
		}
	}
	if m.name != "mcprec" {
		b.WriteString(".SH SEE ALSO\n.BR mcprec (1)\n")
	}
	return b.String()
}

// paragraphs writes a block of help: lines that are indented stay as they are, others are
// filled.
func paragraphs(b *strings.Builder, block string) {
	var filled, fixed []string
	flush := func() {
		if len(filled) > 0 {
			fmt.Fprintf(b, ".PP\n%s\n", roff(strings.Join(filled, "\n")))
		}
		if len(fixed) > 0 {
			verbatim(b, strings.Join(fixed, "\n"))
		}
		filled, fixed = nil, nil
	}
	for line := range strings.Lines(block) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")
		indented := strings.HasPrefix(line, " ")
		if indented != (len(fixed) > 0) {
			flush()
		}
		if indented {
			fixed = append(fixed, line)
		} else {
			filled = append(filled, line)
		}
	}
	flush()
}

// verbatim writes lines as they are.
func verbatim(b *strings.Builder, lines string) {
	fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(lines))
}

// flagLine matches the first line of a flag: its names and its value, and what it does.
var flagLine = regexp.MustCompile(`^ {2,6}(-.*?) {2,}(\S.*)$`)

// flagList writes a table of flags, each with what it does below it.
func flagList(b *strings.Builder, table string) {
	for line := range strings.Lines(table) {
		line = strings.TrimRight(line, "\n")
		if flag := flagLine.FindStringSubmatch(line); flag != nil {
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(flag[1]), roff(flag[2]))
		} else {
			fmt.Fprintln(b, roff(strings.TrimSpace(line)))
		}
	}
}

// roff returns a text in which nothing is a request or an escape of roff. A plain - would be set
// as a hyphen, which no shell takes for a flag.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
