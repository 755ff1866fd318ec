/* The program's first instruction: hands the stack as it is to loader_main. */
    .text
    .globl _start
    .type _start, @function
_start:
    xor %ebp, %ebp
    mov %rsp, %rdi
    and $-16, %rsp
    call loader_main
    hlt
    .size _start, .-_start

/* loader_jump(entry, stack): what the kernel of the OS does after exec. */
    .globl loader_jump
    .type loader_jump, @function
loader_jump:
    mov %rsi, %rsp
    xor %edx, %edx
    xor %ebp, %ebp
    jmp *%rdi
    .size loader_jump, .-loader_jump

    .section .note.GNU-stack, "", @progbits
