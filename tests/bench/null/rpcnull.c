// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * For the bench: the NULL procedure, which no system call asks for. Who writes the
 * path of an NFS mount to /sys/kernel/debug/rpcnull sends one there, on the mount's
 * own transport, and waits for its Reply.
 */
#include <linux/debugfs.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/nfs_fs.h>
#include <linux/sunrpc/clnt.h>

static struct dentry *file;

static int null_call(struct rpc_clnt *clnt)
{
	struct rpc_task *task = rpc_call_null(clnt, NULL, 0);
	int status;

	if (IS_ERR(task))
		return PTR_ERR(task);
	status = task->tk_status;
	rpc_put_task(task);
	return status;
}

static int null_on_mount(const char *name)
{
	struct inode *inode;
	struct path path;
	int rc;

	rc = kern_path(name, LOOKUP_FOLLOW, &path);
	if (rc)
		return rc;
	inode = d_inode(path.dentry);
	rc = -EINVAL;
	if (inode->i_sb->s_magic == NFS_SUPER_MAGIC)
		rc = null_call(NFS_SERVER(inode)->client);
	path_put(&path);
	return rc;
}

static ssize_t null_write(struct file *filp, const char __user *from, size_t len,
			  loff_t *pos)
{
	char name[64];
	int rc;

	if (len >= sizeof(name))
		return -ENAMETOOLONG;
	if (copy_from_user(name, from, len))
		return -EFAULT;
	name[len] = '\0';
	rc = null_on_mount(name);
	return rc ? rc : len;
}

static const struct file_operations null_fops = {
	.owner = THIS_MODULE,
	.write = null_write,
};

static int __init null_init(void)
{
	file = debugfs_create_file("rpcnull", 0200, NULL, NULL, &null_fops);
	return PTR_ERR_OR_ZERO(file);
}

static void __exit null_exit(void)
{
	debugfs_remove(file);
}

module_init(null_init);
module_exit(null_exit);
MODULE_DESCRIPTION("NULL procedure on an NFS mount, for measurements");
MODULE_LICENSE("Dual BSD/GPL");
