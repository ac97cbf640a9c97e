package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The official SDK's client, in both eras: it lists, records, resumes, and is
// told of another process's save.
func TestASDKClientIsServed(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "2025-06-18"} {
		t.Run("protocol "+version, func(t *testing.T) {
			ctx := context.Background()
			b := newBed(t)
			told := make(chan string, 10)
			client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ClientOptions{
				ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { told <- req.Params.URI },
			})
			cs, err := client.Connect(ctx, &mcp.CommandTransport{Command: b.command("mcp")}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cs.Close() })
			list, err := cs.ListTools(ctx, nil)
			if err != nil || len(list.Tools) < 5 {
				t.Fatalf("%v, %v", list, err)
			}
			record := func(id string) {
				t.Helper()
				res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "holdfast_record", Arguments: note(id)})
				if err != nil || res.IsError {
					t.Fatalf("%v, %v", res, err)
				}
			}
			record("n-1")
			other := b.start()
			other.initialize()
			for _, uri := range []string{recordPrefix + "n-1", handoffURI} {
				if err := cs.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
			}
			// The newer era's client doesn't wait until its subscription stands.
			for n, heard := 2, false; !heard; n++ {
				other.must("holdfast_record", note(fmt.Sprintf("n-%d", n)))
				select {
				case uri := <-told:
					heard = true
					if uri != handoffURI {
						t.Errorf("told of %s", uri)
					}
				case <-time.After(2 * watchEvery):
				}
			}
			other.must("holdfast_record", map[string]any{"id": "n-1", "text": "corrected", "expected_revision": 1})
			for seen := map[string]bool{}; !seen[recordPrefix+"n-1"]; {
				seen[<-told] = true
			}
			other.closed()
			res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "holdfast_resume"})
			if err != nil || res.IsError {
				t.Fatalf("%v, %v", res, err)
			}
			j, err := json.Marshal(res)
			if err != nil || !strings.Contains(string(j), "corrected") || !strings.Contains(string(j), "n-2") {
				t.Errorf("%s, %v", j, err)
			}
			read, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: handoffURI})
			if err != nil || !strings.Contains(read.Contents[0].Text, "corrected") {
				t.Errorf("%v, %v", read, err)
			}
			if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "holdfast_record", Arguments: map[string]any{"nope": 1}}); err != nil {
				t.Errorf("a refusal is a protocol error: %v", err)
			}
			if err := cs.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}
