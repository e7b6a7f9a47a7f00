#!/usr/bin/env bash
# xstate 5.33.3 (npm): a delayed transition of an actor that is restored from a snapshot.
#
# Guess: a restored actor takes a delayed transition after the whole delay, or after what was left of it.
# Seen:  it never takes it: a session of which the snapshot was made and restored does not expire. Events still work, and the delay starts
#        again once the state is entered again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund xstate@5.33.3 @sinonjs/fake-timers@15.5.0
cat > restore.mjs <<'JAVASCRIPT'
import FakeTimers from "@sinonjs/fake-timers";
import { createActor, createMachine } from "xstate";

const session = createMachine({
  initial: "signedIn",
  states: {
    signedIn: { after: { 1000: "expired" }, on: { LOGOUT: "signedOut" } },
    signedOut: { on: { LOGIN: "signedIn" } },
    expired: {},
  },
});
const clock = FakeTimers.install({ now: 0 });
function check(name, actor, expected) {
  const seen = actor.getSnapshot().value;
  console.log(`${name}: ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}

const original = createActor(session).start();
clock.tick(600);
const snapshot = JSON.parse(JSON.stringify(original.getPersistedSnapshot()));
const restored = createActor(session, { snapshot }).start();
check("restored", restored, "signedIn");
clock.tick(600);
check("original, after 1,200 ms", original, "expired");
check("restored, after 1,200 ms", restored, "signedIn");
clock.tick(1_000_000);
check("restored, after 1,000 s", restored, "signedIn");
restored.send({ type: "LOGOUT" });
check("restored, signed out", restored, "signedOut");
restored.send({ type: "LOGIN" });
clock.tick(1001);
check("restored, signed in again, after 1,001 ms", restored, "expired");
clock.uninstall();
JAVASCRIPT
node restore.mjs
