/** Given to Node with --import: writes the address of every module that is loaded to the file LOADED_LIST. */
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const list = process.env['LOADED_LIST'] ?? ''

registerHooks({
  load(url, context, next) {
    appendFileSync(list, `${url}\n`)
    return next(url, context)
  },
})
