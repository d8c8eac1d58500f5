# Ends what `start.sh` started, and waits until the ports are free.
kill $(cat pids) && rm pids
for port in 9500 9501 9502 9503; do
  while python -c "import socket; socket.create_connection(('127.0.0.1', $port))" 2> /dev/null; do sleep 0.5; done
done
