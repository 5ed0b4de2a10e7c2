import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Starts a node in `folder` with a process of its own, unless one holds the lock there. */
export async function runStartScript(folder: string): Promise<void> {
  const script = fileURLToPath(new URL('start-script.ts', import.meta.url))
  const started = spawn(process.execPath, [script], { env: { ...process.env, TEST_FOLDER: folder }, stdio: 'ignore' })
  await once(started, 'exit')
}
