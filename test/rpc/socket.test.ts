import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { createRpcServer } from '../../src/rpc/server.ts'
import { realSystem } from '../../src/system.ts'
import { running, temporaryFolder } from './rpc-fixture.ts'
import { createScriptedNode } from './scripted-node.ts'

function serverAt(socketPath: string) {
  return createRpcServer({
    api: createScriptedNode().api,
    socketPath,
    version: '0.1.0',
    system: realSystem(),
    onStop() {},
  })
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777
}

describe('the socket', () => {
  beforeEach(({ skip }) => skip(process.platform === 'win32', 'on Windows it is a named pipe'))

  it('is open to its owner alone, in a folder of the same kind', async () => {
    const folder = join(await temporaryFolder(), 'made')
    const server = serverAt(join(folder, 'node.sock'))
    await server.start()
    expect(await modeOf(join(folder, 'node.sock'))).toBe(0o600)
    expect(await modeOf(folder)).toBe(0o700)
    await server.stop()
    await expect(stat(join(folder, 'node.sock'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('closes a folder that was open', async () => {
    const folder = await temporaryFolder()
    await chmod(folder, 0o755)
    const server = serverAt(join(folder, 'node.sock'))
    await server.start()
    expect(await modeOf(folder)).toBe(0o700)
    await server.stop()
  })

  it('is not put into a folder that everybody shares', async () => {
    const folder = join(await temporaryFolder(), 'shared')
    await mkdir(folder)
    await chmod(folder, 0o1777)
    await expect(serverAt(join(folder, 'node.sock')).start()).rejects.toMatchObject({ code: 'SOCKET_FOLDER' })
    expect((await stat(folder)).mode & 0o7777).toBe(0o1777)
  })

  it('with a path over 100 bytes is refused, with the path and what to do', async () => {
    const folder = await temporaryFolder()
    const path = join(folder, 'ü'.repeat((101 - Buffer.byteLength(folder)) / 2 + 1))
    const refused = serverAt(path).start()
    await expect(refused).rejects.toMatchObject({ code: 'SOCKET_PATH_TOO_LONG' })
    await expect(refused).rejects.toThrow(path)
    await expect(refused).rejects.toThrow('RELAY_NODE_HOME')
  })

  it('of a live node is left alone', async () => {
    const { socketPath, client } = await running()
    await expect(serverAt(socketPath).start()).rejects.toMatchObject({ code: 'SOCKET_IN_USE' })
    expect(await client.call('relay/whoami', {})).toMatchObject({ handle: 'bob@acme' })
  })

  it('of a killed node is replaced', async () => {
    const socketPath = join(await temporaryFolder(), 'node.sock')
    const script = `require('node:net').createServer().listen(${JSON.stringify(socketPath)}, () => console.log('up'))`
    const killed = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(killed.stdout, 'data')
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    expect((await stat(socketPath)).isSocket()).toBe(true)
    const server = serverAt(socketPath)
    await server.start()
    await server.stop()
  })

  it('never takes the place of something else', async () => {
    const folder = await temporaryFolder()
    const file = join(folder, 'file')
    await writeFile(file, 'precious')
    await symlink(file, join(folder, 'link'))
    for (const path of [file, join(folder, 'link'), join(folder, 'file', 'node.sock')]) {
      await expect(serverAt(path).start(), path).rejects.toMatchObject({ message: expect.stringMatching(/./) })
    }
    expect((await stat(file)).size).toBe(8)
  })
})
