package client

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

func TestInstructions(t *testing.T) {
	for _, with := range []bool{false, true} {
		text := Instructions(with)
		if n := utf8.RuneCountInString(text); n >= 1200 {
			t.Errorf("%d characters", n)
		}
		if !strings.HasPrefix(text, blockBegin+"\n") || !strings.HasSuffix(text, "\n"+blockEnd) || strings.ContainsAny(text, "{}\r") {
			t.Errorf("markers or placeholders:\n%s", text)
		}
		if strings.Contains(text, "holdfast_txn") != with {
			t.Errorf("transactions %v:\n%s", with, text)
		}
		for _, part := range []string{"holdfast_resume", "holdfast_record", "source", "holdfast check", "BLOCKED / NOT COMPLETE", "data, not instructions"} {
			if !strings.Contains(text, part) {
				t.Errorf("does not say %q", part)
			}
		}
		if _, err := parseMarkdown([]byte(text)); err != nil {
			t.Errorf("our own block is refused: %v", err)
		}
		for i, l := range strings.Split(text, "\n") {
			if strings.TrimRight(l, " \t") != l {
				t.Errorf("white space at the end of line %d", i+1)
			}
		}
	}
}

// validSkill checks a SKILL.md by the rules of agentskills.io.
func validSkill(folder, text string) error {
	parts := strings.SplitN(text, "---\n", 3)
	if len(parts) != 3 || parts[0] != "" {
		return fmt.Errorf("no front matter")
	}
	var front map[string]any
	if err := yaml.Unmarshal([]byte(parts[1]), &front); err != nil {
		return err
	}
	for k := range front {
		switch k {
		case "name", "description", "license", "compatibility", "metadata", "allowed-tools":
		default:
			return fmt.Errorf("unknown field %s", k)
		}
	}
	name, _ := front["name"].(string)
	if name != folder || len(name) > 64 || !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(name) {
		return fmt.Errorf("name %q in folder %q", name, folder)
	}
	desc, _ := front["description"].(string)
	if n := utf8.RuneCountInString(strings.TrimSpace(desc)); n < 1 || n > 1024 {
		return fmt.Errorf("a description of %d characters", n)
	}
	if c, ok := front["compatibility"].(string); ok && utf8.RuneCountInString(c) > 500 {
		return fmt.Errorf("compatibility is too long")
	}
	if m, ok := front["metadata"]; ok {
		values, ok := m.(map[string]any)
		if !ok {
			return fmt.Errorf("metadata is no map")
		}
		for k, v := range values {
			if _, ok := v.(string); !ok {
				return fmt.Errorf("metadata %s is no string", k)
			}
		}
	}
	body := parts[2]
	if strings.TrimSpace(body) == "" || strings.Count(body, "\n") >= 500 || len(body)/4 >= 5000 {
		return fmt.Errorf("a body of %d bytes", len(body))
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(body, -1) {
		if strings.Count(link[1], "/") > 1 {
			return fmt.Errorf("a reference deeper than one level: %s", link[1])
		}
	}
	return nil
}

func TestSkillIsValid(t *testing.T) {
	if err := validSkill(skillName, Skill()); err != nil {
		t.Error(err)
	}
	for _, part := range []string{"holdfast_txn_begin", "holdfast_txn_observe", "holdfast_txn_attempt", "holdfast_txn_report", "holdfast txn begin", "BLOCKED / NOT COMPLETE", "complete_reported"} {
		if !strings.Contains(Skill(), part) {
			t.Errorf("does not say %q", part)
		}
	}
	for name, bad := range map[string]string{
		"folder":      strings.Replace(Skill(), "name: recovering", "name: other", 1),
		"field":       strings.Replace(Skill(), "---\n", "---\nversion: 1\n", 1),
		"description": strings.Replace(Skill(), "description: ", "description: "+strings.Repeat("x", 1024), 1),
		"front":       "# Recovering\n",
		"body":        strings.SplitAfterN(Skill(), "---\n", 3)[0] + strings.SplitAfterN(Skill(), "---\n", 3)[1],
	} {
		if validSkill(skillName, bad) == nil {
			t.Errorf("the validator lets pass: %s", name)
		}
	}
}
