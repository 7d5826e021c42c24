#!/usr/bin/env node
import { main } from "../dist/command.js";
process.exitCode = await main(process.argv.slice(2));
// Whatever still waits then, like an export that is to be tried again, must not keep the command from ending.
setTimeout(() => process.exit(), 500).unref();
