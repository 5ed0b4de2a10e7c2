/** `npm run bench -- NAME …`: prints what was measured. Nothing passes or fails here: machines differ, and what counts stands side by side in one run. */
const BENCHES: Record<string, () => Promise<{ run(args: string[]): Promise<void> }>> = {
  bootstrap: () => import('./bootstrap.ts'),
  scale: () => import('./scale.ts'),
  search: () => import('./search.ts'),
  workspace: () => import('./workspace.ts'),
}

const [name = '', ...args] = process.argv.slice(2)
const bench = BENCHES[name]
if (bench === undefined) {
  console.error(`usage: npm run bench -- ${Object.keys(BENCHES).join('|')}`)
  process.exit(2)
}
await (await bench()).run(args)
process.exit(0)
