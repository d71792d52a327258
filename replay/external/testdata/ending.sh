# A server that answers each request but the call of work. Its argument says what it does at its end.
stays=
case $1 in
"swallows SIGTERM") trap '' TERM ;;
"stays at SIGTERM") trap 'stays=1' TERM ;;
"ignores a broken pipe" | "stays without output") trap '' PIPE ;;
esac
while read -r line; do
	id=${line#*'"id":'}
	case $line in
	*'"work"'*) continue ;;
	*'"id"'*) echo '{"jsonrpc":"2.0","id":'"${id%%,*}"',"result":{}}' 2>/dev/null || [ "$1" != "stays without output" ] || stays=1 ;;
	esac
done
while [ "$stays" ]; do sleep 3600; done
