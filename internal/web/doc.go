// Package web serves one project to one person's browser, on loopback only.
//
// It owns the pages, their one style sheet and one script, and who may ask for
// them. Like the other faces it decodes a request, calls one method of the hub
// and renders the answer: it must never decide what a save means, never show
// stored text as markup, never answer a request that names another host or
// comes from another origin, and never fetch anything from outside.
package web
