# Flower as this example runs it: it phones nobody, installs nothing, and keeps its files in this folder.
export FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1 FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION=1
export FLWR_HOME="$PWD/.flwr"
