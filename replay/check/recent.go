package check

// recent is a map that keeps the latest of its entries: at least most, at most twice
// that many, however long a session is.
type recent[K comparable, V any] struct {
	most           int
	latest, before map[K]V
}

func newRecent[K comparable, V any](most int) recent[K, V] {
	return recent[K, V]{most: most, latest: map[K]V{}}
}

func (r *recent[K, V]) get(key K) (V, bool) {
	v, ok := r.latest[key]
	if !ok {
		v, ok = r.before[key]
	}
	return v, ok
}

func (r *recent[K, V]) put(key K, v V) {
	if len(r.latest) >= r.most {
		r.latest, r.before = map[K]V{}, r.latest
	}
	r.latest[key] = v
}
