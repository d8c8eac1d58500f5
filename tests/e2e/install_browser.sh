#!/bin/sh
# Installs Debian's chromium for the tests that look at the report. Silent and quick when it is there already.
# Where it cannot be installed this says so in one line and succeeds: those tests then skip with the reason.
set -u

command -v chromium >/dev/null 2>&1 && exit 0

give_up() {
    echo "chromium is not installed and $1; the browser tests will be skipped."
    exit 0
}

command -v apt-get >/dev/null 2>&1 || give_up "there is no apt-get to install it with"
[ "$(id -u)" -eq 0 ] || give_up "only root can install it (apt-get install chromium chromium-driver)"

export DEBIAN_FRONTEND=noninteractive
apt-get -qq update >/dev/null 2>&1 || give_up "apt-get update failed"
apt-get -qq install -y --no-install-recommends chromium chromium-driver >/dev/null 2>&1 ||
    give_up "apt-get could not install it"
