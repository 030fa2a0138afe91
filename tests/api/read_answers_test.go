// Reads the recorded answers by the types that openapi-generator makes for Go, and writes them again: nothing may be lost.

package vestibule

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestReadAnswers(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("ANSWERS"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no answers", err)
	}
	for _, file := range files {
		schema, _, _ := strings.Cut(filepath.Base(file), ".")
		read := map[string]any{
			"Closing": new(Closing), "Entry": new(Entry), "Jwks": new(Jwks), "LoadAnswer": new(LoadAnswer),
			"Problem": new(Problem), "PublicDocument": new(PublicDocument), "ValidateResponse": new(ValidateResponse),
		}[schema]
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, read); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		written, err := json.Marshal(read)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var answer, again any
		_, _ = json.Unmarshal(text, &answer), json.Unmarshal(written, &again)
		if !reflect.DeepEqual(answer, again) {
			t.Errorf("%s: %s came back as %s", file, text, written)
		}
	}
}
