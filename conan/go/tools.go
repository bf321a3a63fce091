//go:build tools

// Package tools names the servers of Go that the tests start, so that go.mod and go.sum pin them with all that they need.
package tools

import _ "github.com/Shopify/toxiproxy/v2/cmd/server"
