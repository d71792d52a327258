#!/usr/bin/env node
// Starts the program of mcprec, which is in the package of this platform. Nothing is
// downloaded here: npm has installed that package as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `@mcprec/${process.platform}-${process.arch}`;
const name = process.platform === "win32" ? "mcprec.exe" : "mcprec";

let program;
try {
  program = require.resolve(`${platform}/${name}`);
} catch {
  console.error(
    `mcprec: the package ${platform} is not installed; install again without --omit=optional. ` +
      "If npm knows no such package, there is no program for this platform: build it with Go.",
  );
  process.exit(127);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });

// SIGUSR1 is absent: Node starts its debugger on it.
const forwarded = process.platform === "win32" ? [] : ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"];
for (const signal of forwarded) process.on(signal, () => child.kill(signal));

// A console of Windows sends ^C to the child as well; this process only has to outlive it.
if (process.platform === "win32") process.on("SIGINT", () => {});

child.on("error", (err) => {
  console.error(`mcprec: cannot start ${program}: ${err.message}`);
  process.exit(126);
});

// This process ends as the program did: with its status, or by its signal.
child.on("exit", (status, signal) => {
  if (signal === null) process.exit(status);
  for (const handled of forwarded) process.removeAllListeners(handled);
  process.exitCode = 128 + constants.signals[signal]; // where the signal does not kill, as SIGPIPE
  process.kill(process.pid, signal);
});
