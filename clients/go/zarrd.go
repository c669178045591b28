// Package zarrd is a client of zarrd that needs only the standard library.
package zarrd

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Dataset is a data set by its URL, http://localhost:8080/v1/datasets/demo, with a token or "".
type Dataset struct{ URL, Token string }

// Node is a group or, with Array, an array.
type Node struct {
	Path  string
	Array *struct{ Shape []int }
}

// Problem is an error: what the server refused, as the members of the problem document.
type Problem map[string]any

func (p Problem) Error() string {
	text := fmt.Sprint(p["detail"])
	for _, name := range []string{"allowed", "suggestions", "expected", "found"} {
		if p[name] != nil {
			text += fmt.Sprintf("; %s: %v", name, p[name])
		}
	}
	return text
}

func (d Dataset) ask(method, resource, path string, query url.Values, body []byte) ([]byte, http.Header, error) {
	target := d.URL + "/" + resource + "/" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
	request, err := http.NewRequest(method, target, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if d.Token != "" {
		request.Header.Set("Authorization", "Bearer "+d.Token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if problem := (Problem{"detail": answer.Status}); err == nil && answer.StatusCode >= 300 {
		_ = json.Unmarshal(text, &problem) // what is no problem document leaves the status line
		err = problem
	}
	return text, answer.Header, err
}

// List returns all nodes from the group on; "" is the root.
func (d Dataset) List(group string) (nodes []Node, err error) {
	var page struct{ Nodes []Node }
	text, _, err := d.ask("GET", "tree", group, url.Values{"fields": {"path,array.shape"}}, nil)
	if err == nil {
		err = json.Unmarshal(text, &page)
	}
	return page.Nodes, err
}

// Read returns the elements of a slice of an array of T, in C order, and their shape.
func Read[T any](d Dataset, path, slice string) (values []T, shape []int, err error) {
	body, header, err := d.ask("GET", "slices", path, url.Values{"slice": {slice}, "format": {"raw"}}, nil)
	if is, wanted := header.Get("Zarr-Data-Type"), fmt.Sprintf("%T", *new(T)); err == nil && is != wanted {
		err = fmt.Errorf("%s has elements of %s, not %s", path, is, wanted)
	}
	if err == nil {
		err = json.Unmarshal([]byte("["+header.Get("Zarr-Shape")+"]"), &shape)
	}
	if err == nil {
		values = make([]T, len(body)/binary.Size(*new(T)))
		err = binary.Read(bytes.NewReader(body), binary.LittleEndian, values)
	}
	return values, shape, err
}

// Write stores elements of the array's type as a slice, in C order.
func Write[T any](d Dataset, path, slice string, values []T) error {
	var body bytes.Buffer
	err := binary.Write(&body, binary.LittleEndian, values)
	if err == nil {
		_, _, err = d.ask("PUT", "slices", path, url.Values{"slice": {slice}}, body.Bytes())
	}
	return err
}
