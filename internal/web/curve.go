package web

import "fmt"

// curve is the path of an edge between two boxes, as SVG writes it.
func curve(a, b drawn) string {
	ay, by := a.Y+a.H/2, b.Y+b.H/2
	switch {
	case a.X < b.X:
		return bend(a.X+a.W, ay, b.X, by, 1)
	case a.X > b.X:
		return bend(a.X, ay, b.X+b.W, by, -1)
	}
	x := a.X + a.W // of one column: a bow beside it
	return fmt.Sprintf("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", x, ay, x+50, ay, x+50, by, x, by)
}

func bend(x1, y1, x2, y2, side float64) string {
	const reach = 60
	return fmt.Sprintf("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", x1, y1, x1+side*reach, y1, x2-side*reach, y2, x2, y2)
}
