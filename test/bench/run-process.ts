/** `npm run bench -- NAME [argument …]` measures something and prints a table; without a name it lists what can be measured. */
const BENCHES: Record<string, () => Promise<{ run(args: readonly string[]): Promise<void> }>> = {
  bootstrap: () => import('./bootstrap.ts'),
}

const [name = '', ...args] = process.argv.slice(2)
const load = BENCHES[name]
if (load === undefined) {
  console.error(`usage: npm run bench -- NAME, where NAME is one of: ${Object.keys(BENCHES).join(', ')}`)
  process.exitCode = 1
} else {
  await (await load()).run(args)
}
