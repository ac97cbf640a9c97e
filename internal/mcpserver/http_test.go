package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/internal/project"
)

func serveHTTP(t *testing.T) string {
	t.Helper()
	b := newBed(t)
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- ServeHTTP(ctx, b.world(), project.Options{}, "127.0.0.1:0", w) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	url, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, r)
	return strings.TrimSpace(url)
}

func TestHTTPServesTheSDKsClient(t *testing.T) {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	cs, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: serveHTTP(t), DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "holdfast_record", Arguments: note("n-1")})
	if err != nil || res.IsError {
		t.Fatalf("%v, %v", res, err)
	}
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
}

func TestHTTPKeepsOthersOut(t *testing.T) {
	url := serveHTTP(t)
	for name, header := range map[string][2]string{
		"another origin": {"Origin", "https://evil.test"}, "another site": {"Sec-Fetch-Site", "cross-site"}, "another host": {"Host", "evil.test"},
	} {
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if header[0] == "Host" {
			req.Host = header[1]
		} else {
			req.Header.Set(header[0], header[1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", "10.0.0.1:0", ":0", "localhost:0", "example.test:80", ""} {
		err := ServeHTTP(context.Background(), newBed(t).world(), project.Options{}, addr, io.Discard)
		if _, ok := errors.AsType[*project.UsageError](err); !ok {
			t.Errorf("%q: %v", addr, err)
		}
	}
}
