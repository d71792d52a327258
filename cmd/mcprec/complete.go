package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

// completeSessions offers the ids of the newest sessions, with their labels and
// commands, and files.
func completeSessions(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var h home
	h.dir, _ = cmd.Flags().GetString("store")
	db, err := h.open(boltstore.Options{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer db.Close()
	d, err := h.door(db)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var ids []cobra.Completion
	for s, err := range db.Sessions(cmd.Context(), store.Query{Prefix: prefix, Newest: true, Limit: 50}) {
		if err == nil {
			h := d.header(s.Header)
			ids = append(ids, cobra.CompletionWithDesc(string(s.ID), plain(strings.TrimSpace(h.Label+" "+strings.Join(h.Command, " ")))))
		}
	}
	return ids, cobra.ShellCompDirectiveDefault
}

// completeWords makes a flag complete to one of the words.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic("unreachable: the flag is defined: " + err.Error())
	}
}
