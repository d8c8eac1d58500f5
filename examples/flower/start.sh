# Starts a SuperLink and three SuperNodes as processes on 127.0.0.1; `sh stop.sh` ends them.
#
#   sh start.sh        open connections, for a try on one machine
#   sh start.sh tls    TLS, and a key for each hospital
set -e
. ./env.sh
mkdir -p .flwr
if [ "$1" = tls ]; then
  python certificates.py
  link="--ssl-ca-certfile keys/ca.crt --ssl-certfile keys/server.pem --ssl-keyfile keys/server.key --enable-supernode-auth"
  node="--root-certificates keys/ca.crt"
  client="root-certificates = \"$PWD/keys/ca.crt\""
else
  link=--insecure
  node=--insecure
  client="insecure = true"
fi
printf '[superlink]\ndefault = "hospitals"\n\n[superlink.hospitals]\naddress = "127.0.0.1:9500"\n%s\n' "$client" > .flwr/config.toml
flower-superlink $link --port 9500 > superlink.log 2>&1 &
echo $! > pids
until python -c 'import socket; socket.create_connection(("127.0.0.1", 9500))' 2> /dev/null; do sleep 0.5; done
for place in 1 2 3; do
  own=
  if [ "$1" = tls ]; then
    flwr supernode register "keys/site-$place.pub" hospitals
    own="--auth-supernode-private-key keys/site-$place"
  fi
  flower-supernode $node $own --superlink 127.0.0.1:9500 --port "950$place" --node-config "rows=\"$PWD/site-$place.csv\"" > "site-$place.log" 2>&1 &
  echo $! >> pids
done
