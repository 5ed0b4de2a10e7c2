/** The version of this program, from its manifest. */
import { createRequire } from 'node:module'
import * as z from 'zod'

export const VERSION = z
  .object({ version: z.string() })
  // The package names itself, so that this works from sources and from what is published.
  .parse(createRequire(import.meta.url)('relay-node/package.json')).version
