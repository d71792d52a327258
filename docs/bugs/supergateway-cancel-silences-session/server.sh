# The gateway on the port $1, with the stdio server of main.mjs, whose questions wait an hour.
exec node node_modules/supergateway/dist/index.js --stdio 'node supergateway-cancel-silences-session/main.mjs serve 3600000' \
    --outputTransport streamableHttp --stateful --port "$1" --logLevel none
