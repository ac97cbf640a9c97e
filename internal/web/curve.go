package web

import (
	"fmt"
	"math"
)

// curve is the path of an edge between two boxes, as SVG writes it.
// Where it passes a column of boxes, whose rows begin at top, it keeps to the gap
// between two of them.
func curve(a, b drawn, top float64) string {
	ay, by := a.Y+a.H/2, b.Y+b.H/2
	const step = nodeHeight + rowGap
	if reach := nodeWidth + columnGap; math.Abs(a.X-b.X) > 1.5*reach {
		gap := top - rowGap/2 + math.Round(((ay+by)/2-top)/step)*step
		left, right, ly, ry := a, b, ay, by
		if a.X > b.X {
			left, right, ly, ry = b, a, by, ay
		}
		x1, x2 := left.X+reach-8, right.X-columnGap+8
		return bend(left.X+left.W, ly, x1, gap, 1) + fmt.Sprintf("L%.0f %.0f", x2, gap) + bend(x2, gap, right.X, ry, 1)
	}
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
