//go:build amd64 || arm64

package procfs

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Address says what a socket of a process is, by its name: "a connection to 192.0.2.7:443" or "connections at
// 127.0.0.1:3000"; "" for another kind, or where it is not shown.
func Address(pid int, name string) string {
	inode := strings.TrimSuffix(strings.TrimPrefix(name, "socket:["), "]")
	for _, kind := range []string{"tcp", "tcp6", "udp", "udp6"} {
		if said := addressIn(fmt.Sprintf("/proc/%d/net/%s", pid, kind), inode); said != "" {
			return said
		}
	}
	return ""
}

// addressIn looks for a socket in a table of proc_pid_net(5).
func addressIn(path, inode string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	const local, remote, state, number = 1, 2, 3, 9 // the columns
	const listening = "0A"
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) <= number || fields[number] != inode {
			continue
		}
		at, other := parseAddress(fields[local]), parseAddress(fields[remote])
		switch {
		case fields[state] == listening:
			return "connections at " + at.String()
		case other.IsValid() && other.Port() != 0:
			return "a connection to " + other.String()
		case at.IsValid():
			return "packets at " + at.String()
		}
	}
	return ""
}

// parseAddress reads an address as the kernel writes it: words of 4 bytes in the machine's order, and a port.
func parseAddress(text string) netip.AddrPort {
	words, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(words)
	number, bad := strconv.ParseUint(port, 16, 16)
	if err != nil || bad != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number))
}
